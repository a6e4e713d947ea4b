"""`pellucid completion SHELL`: the script that makes a shell complete commands and options."""

import click

from pellucid.app.messages import voice_options


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@voice_options
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL; source it in the shell's start file."""
    from click.shell_completion import get_completion_class

    from pellucid.app.cli import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "pellucid", "_PELLUCID_COMPLETE").source())

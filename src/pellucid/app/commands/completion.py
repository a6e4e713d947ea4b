"""`pellucid completion SHELL`: the script for shell completion."""

import click

from pellucid.app.messages import message_options


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@message_options
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell. Source it in the start-up file of the shell."""
    from click.shell_completion import get_completion_class

    from pellucid.app.cli import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "pellucid", "_PELLUCID_COMPLETE").source())

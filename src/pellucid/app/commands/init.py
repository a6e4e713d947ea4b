"""`pellucid init`: a settings file with every setting, its default and its meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pellucid.app.messages import message_options


@click.command()
@click.option("-o", "--out", default="pellucid.toml", show_default=True, help="The file to write.")
@click.option("-t", "--target", help="The column to predict.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@message_options
@click.pass_obj
def init(messages: Any, out: str, target: str | None, force: bool) -> None:
    """Write a pellucid.toml with all settings and their defaults, ready to edit."""
    from pellucid.app.options import toml_value
    from pellucid.comparison.planning.settings import SETTINGS, allowed
    from pellucid.data.io.whole_file import write_whole
    from pellucid.errors import DataError

    path = Path(out)
    if path.exists() and not force:
        raise DataError(f"{path} exists already. Edit it, or replace it with --force.")
    lines = [
        "# Settings of 'pellucid compare'. The command line and PELLUCID_* variables take precedence.",
        "",
    ]
    for setting in SETTINGS:
        lines.append(f"# {setting.help} ({allowed(setting)})")
        name = setting.name.replace("_", "-")
        if setting.name == "target" and target:
            lines.append(f"target = {toml_value(target)}")
        elif setting.default is None:
            lines.append(f"# {name} =")
        else:
            lines.append(f"# {name} = {toml_value(setting.default)}")
        lines.append("")
    write_whole(path, "\n".join(lines))
    messages.note(f"wrote {path}")

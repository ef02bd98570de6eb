"""The command ``nbtoolkit``; its one subcommand brings a served notebook to an MCP client's stdio."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an exit code."""
    import nbtoolkit

    parser = argparse.ArgumentParser(prog="nbtoolkit", description="Tools of a running notebook for agents.")
    parser.add_argument("--version", action="version", version=f"nbtoolkit {nbtoolkit.__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    serve = commands.add_parser(
        "serve",
        help="serve a running notebook's tools to an MCP client that starts its servers",
        description="Serve the tools of a notebook in which `%toolkit serve` was run, on stdin and "
        "stdout, for an MCP client that starts its servers.",
    )
    serve.add_argument("--stdio", action="store_true", required=True, help="speak MCP on stdin and stdout")
    serve.add_argument(
        "--kernel",
        metavar="CONNECTION_FILE",
        help="the kernel's connection file or id, as %%connect_info prints it; without it the newest kernel that serves",
    )
    options = parser.parse_args(arguments)

    from nbtoolkit.agents.serving.bridge import run

    return run(options.kernel)

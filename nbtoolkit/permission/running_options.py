"""The table of options by which programs run another one, in whole or shortened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RUNS", "names_program"]

# Options that name a program to run: short ones as an expression for a word's beginning, long ones by their names, which
# most programs take shortened too.
RUNS: dict[str, tuple[re.Pattern[str] | None, tuple[str, ...]]] = {
    name: (re.compile(short) if short else None, tuple(long.split()))
    for names, short, long in (
        (
            "tar",
            r"-[a-zA-Z]*[IF]",
            "to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script",
        ),
        ("cpio", r"-[a-zA-Z]*F", "rsh-command"),
        ("rsync", r"-[a-zA-Z0-9]*[eM]", "rsh rsync-path remote-option"),
        ("scp", r"-[oSF]", ""),
        ("sftp", r"-[oSFb]", ""),
        ("ssh", r"-[oF]", ""),
        ("sort", "", "compress-program"),
        ("split", "", "filter"),
        ("zip", r"-TT", "unzip-command"),
        ("rg", "", "pre hostname-bin"),
        ("fd fdfind", r"-[xX]", "exec exec-batch"),
        ("man", r"-[PH]", "pager html"),
        ("less", r"\+|-[kKoO]", "lesskey-src lesskey-file log-file LOG-FILE"),
        ("vim vi view nvim gvim ex", r"-[cSsluw]|\+", "cmd"),
        ("emacs", r"-[lf]", "eval load funcall execute script"),
        ("wget", r"-e", "use-askpass execute config"),
        ("curl", r"-K", "config engine"),
        ("make gmake", r"-E|SHELL=", "eval"),
        ("npm pnpm yarn", "", "script-shell shell"),
        ("tcpdump", r"-z", ""),
        ("apt apt-get", r"-o", "option"),
        ("dpkg", "", "pre-invoke post-invoke"),
        ("gdb lldb", r"-(?:ex|iex|x|o|s)", "command eval-command init-command init-eval-command source one-line batch"),
        ("lftp", r"-[ce]", ""),
        ("nmap", "", "script"),
        ("git", "", "upload-pack receive-pack config-env ext-diff open-files-in-pager"),
        ("docker podman", "", "privileged pid=host"),
        ("pip", "", "config-settings global-option"),
        ("crontab", r"-[re]|-\Z", ""),
        ("hash", r"-p", ""),
        ("complete", r"-C", ""),
        ("mapfile readarray", r"-C", ""),
        ("strace ltrace", r"-o?[|!]|[|!]", "output=|"),
        ("tex latex pdflatex xelatex lualatex", r"-(?:shell-escape|enable-write18)", "shell-escape enable-write18"),
        ("latexmk", r"-(?:e|r|shell-escape|pdflatex=|latex=)", ""),
        ("bat batcat", "", "pager"),
        ("pandoc", r"-[FLd]|\S*\.lua\Z", "filter lua-filter defaults pdf-engine"),
        ("yt-dlp youtube-dl", "", "exec exec-before-download postprocessor-args config-location"),
        ("aria2c", "", "on-download-complete on-download-start on-download-error on-bt-download-complete conf-path"),
        ("rclone restic", "", "password-command rsh"),
        ("java", r"-(?:agentpath|agentlib|javaagent|XX:OnError|XX:OnOutOfMemoryError)", ""),
        ("gcc g++ cc c++ clang clang++", r"-(?:wrapper|fplugin|B|specs)|@", "specs"),
    )
    for name in names.split()
}


def names_program(word: str, short: re.Pattern[str] | None, long: Sequence[str]) -> bool:
    """Whether a word is one of these options, a long one perhaps shortened."""
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        # Two letters may be an abbreviation of anything, and are of nothing in use.
        return len(name) > 2 and any(
            each.startswith(name) or ("=" in each and word.startswith(f"--{each}")) for each in long
        )
    return short is not None and short.match(word) is not None

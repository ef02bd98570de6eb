"""Which git commands provably only read. Hooks, fsmonitor, diff programs and pagers are Bash's to switch off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.readonly import GitReading, Reading, parse_spec, scan
from nbtoolkit.permission.shell_outputs import DIGITS
from nbtoolkit.permission.wrapped import made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.readonly import Scan
    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["CONFIG_VERBS", "GIT_VALUED", "git_reading", "git_words"]

# git config's newer form begins with one of these.
CONFIG_VERBS = frozenset({"get", "set", "unset", "list", "edit", "rename-section", "remove-section"})

# git's own options in front of the subcommand that take a value.
GIT_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"}
)
_GIT_ALONE = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--icase-pathspecs"}
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SETTING = re.compile(r"[a-zA-Z][\w-]*(?:\.[\w./:@-]+)*\.[a-zA-Z][\w-]*")
_SECRETIVE = re.compile(r"extraheader|credential|token|passw|secret|proxy|cookie|pass\Z", re.IGNORECASE)
# They look at what is committed, and at no file of the working tree.
_COMMITTED = _words(
    "log show shortlog reflog whatchanged branch tag remote rev-parse rev-list ls-tree cat-file for-each-ref show-ref merge-base "
    "name-rev describe diff-tree count-objects version var notes bisect worktree check-ignore stash"
)

_LOG = (
    "@pgizmtcuqwbEFGP -n= -L= -S= -G= -U= -l= -O< --oneline --stat? --shortstat --numstat --name-only --name-status --summary --graph --all "
    "--branches? --tags? --remotes? --decorate? --no-decorate --abbrev? --abbrev-commit --no-abbrev-commit --pretty? --format= --date= "
    "--relative-date --since= --after= --until= --before= --author= --committer= --grep= --invert-grep --all-match --max-count= --skip= "
    "--first-parent --merges --no-merges --reverse --follow --topo-order --date-order --author-date-order --cherry-pick --left-right "
    "--patch --no-patch -s --raw --unified= --color? --no-color --word-diff? --color-words? --ignore-all-space --ignore-space-change "
    "--ignore-blank-lines --ignore-space-at-eol --find-renames? -M? -C? --no-renames --diff-filter= --cached --staged --merge-base "
    "--exit-code --quiet --check --no-ext-diff --no-textconv --full-index --binary --text --function-context --dirstat? --compact-summary "
    "--patch-with-stat --pickaxe-regex --pickaxe-all --minimal --patience --histogram --diff-algorithm= --full-history "
    "--boundary --simplify-by-decoration --walk-reflogs --notes? --no-notes --no-walk? --source --use-mailmap --children --parents --cc "
    "--inter-hunk-context= --relative? --ita-invisible-in-index --no-prefix --src-prefix= --dst-prefix= --no-index NUM"
)

_COMMANDS: dict[str, str] = {
    "status": "@suvbz --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --ignore-submodules? --show-stash --ahead-behind "
    "--no-ahead-behind --renames --no-renames --column? --no-column -u?; files",
    "log": f"{_LOG}; files",
    "diff": f"{_LOG}; files",
    "show": f"{_LOG}; files",
    "whatchanged": f"{_LOG}; files",
    "reflog": f"{_LOG}; =show|HEAD",
    "shortlog": "@nsec --numbered --summary --email --all --since= --until= --no-merges; any",
    "blame": "@bcefilnpstwMC -L= --date= --porcelain --line-porcelain --since= --show-email; files",
    "annotate": "@bcefilnpstw -L= --date=; files",
    "ls-files": "@cdmosuktzvf --cached --deleted --modified --others --stage --exclude-standard --ignored --full-name --error-unmatch -x= --exclude= "
    "--directory --no-empty-directory --eol --recurse-submodules --deduplicate; names",
    "ls-tree": "@drtlz --name-only --name-status --full-name --full-tree --long --abbrev?; any",
    "cat-file": "@tsep; any",
    "rev-parse": "@q --show-toplevel --show-prefix --show-cdup --abbrev-ref? --short? --verify --quiet --git-dir --is-inside-work-tree --is-bare-repository "
    "--symbolic --symbolic-full-name --all --branches? --tags? --absolute-git-dir --show-superproject-working-tree; any",
    "rev-list": "-n= --count --all --max-count= --since= --until= --author= --no-merges --merges --first-parent --reverse --left-right --objects "
    "--abbrev-commit --oneline NUM; any",
    "name-rev": "--name-only --tags --all; any",
    "merge-base": "@a --all --is-ancestor --fork-point --octopus; any",
    "describe": "--all --tags --long --always --dirty? --abbrev? --match= --exclude= --exact-match --first-parent --contains; any",
    "for-each-ref": "--format= --sort= --count= --points-at= --merged? --no-merged? --contains? ; any",
    "show-ref": "@dqs --head --heads --tags --hash? --verify; any",
    "count-objects": "@vH --verbose --human-readable; none",
    "diff-tree": f"{_LOG} --stdin --root --no-commit-id; any",
    "grep": "@aiIwvhHnlLcopEFGPqz -e= -A= -B= -C= -m= --cached --untracked --no-index --ignore-case --word-regexp --invert-match --line-number "
    "--files-with-matches --files-without-match --name-only --count --show-function --function-context -W --heading --break --color? "
    "--no-color --max-depth= --all-match --and --or --not --quiet --extended-regexp --basic-regexp --perl-regexp --fixed-strings; any",
    "branch": "@avr --all --remotes --list --verbose -vv --show-current --contains? --merged? --no-merged? --sort= --format= --color? --no-color "
    "--column? --points-at= -l; =",
    "tag": "@l -n? --list --sort= --format= --contains? --merged? --no-merged? --points-at= --column? -i; =",
    "remote": "@v --verbose; =",
    "version": "--build-options; none",
    "check-ignore": "@vnqz --verbose --no-index; names",
    "var": "; =GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT|GIT_DEFAULT_BRANCH",
}
_TWO_WORDS: dict[tuple[str, str], str] = {
    ("stash", "list"): "--oneline --stat --date= --format= NUM; any",
    ("stash", "show"): "@p --patch --stat --name-only --name-status --include-untracked --numstat; any",
    ("worktree", "list"): "@vz --verbose --porcelain; none",
    ("submodule", "status"): "--cached --recursive; any",
    ("remote", "get-url"): "--all --push; any",
    ("branch", "--list"): "@avr --sort= --format=; any",
    ("tag", "--list"): "--sort= --format= -n?; any",
    ("tag", "-l"): "--sort= --format= -n?; any",
    ("notes", "list"): "; any",
    ("notes", "show"): "; any",
    ("bisect", "log"): "; none",
    ("lfs", "ls-files"): "; none",
}


def git_words(args: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
    """The options in front of the subcommand, and the rest from the subcommand on."""
    at = 0
    while at < len(args):
        word = args[at].static
        if word is None or not word.startswith("-"):
            break
        at += 2 if word in GIT_VALUED else 1
    return list(args[:at]), list(args[at:])


def git_reading(args: Sequence[Argument]) -> Reading | None:
    """What a git command reads, where it is known to do nothing else."""
    options, rest = git_words(args)
    words = [each.static for each in rest]
    if not words and [each.static for each in options] == ["--version"]:
        return Reading()
    folders = _folders(options)
    if folders is None or not words or words[0] is None:
        return None
    if words[0] == "config":
        return _config(words[1:], folders)
    spec = _TWO_WORDS.get((words[0], words[1] or "")) if len(words) > 1 else None
    skip = 1
    if spec is not None:
        skip = 2
    else:
        spec = _COMMANDS.get(words[0])
    if spec is None:
        return None
    parsed = parse_spec(spec)
    found = scan(parsed, rest[skip:])
    if found is None or "--no-index" in found.flags:
        # With --no-index the words are any files; better asked than guessed.
        return None
    if any("%G" in (each.static or "") or "signature" in (each.static or "") for each in rest):
        # A format or an order that checks signatures runs gpg.
        return None
    compares = words[0] not in _COMMITTED or "--dirty" in found.flags
    result = Reading(
        paths=[(each, "name") for each in folders], git=GitReading(folders[0] if folders else None, compares)
    )
    _goes_below(result, found, folders)
    kind = parsed.operands
    if kind in {"none", "="}:
        return None if found.operands else result
    if kind.startswith("="):
        return result if all(each.static in kind[1:].split("|") for each in found.operands) else None
    if any(each.splits for each in found.operands):
        return None
    # Revisions and files look alike; what is a file in the repository git can show, what leads outside is judged.
    result.paths.extend((each, "name") for each in found.operands if _like_a_path(each))
    result.unknown_paths = any(not each.known and not _revision(each) for each in found.operands)
    return result


def _goes_below(result: Reading, found: Scan, folders: list[Argument]) -> None:
    """``grep --untracked`` goes through all that lies there, as grep -r does, not just through what git knows."""
    if "--untracked" not in found.flags:
        return
    named = [] if folders else found.operands[0 if "-e" in found.flags else 1 :]
    if any((each.static or ":").startswith(":") for each in named):
        # A pathspec of git's own kind.
        named = []
    result.paths.extend((each, "read") for each in named or folders or [made(".")])
    result.recursive = True


def _config(words: Sequence[str | None], folders: list[Argument]) -> Reading | None:
    """One setting by its name, unless that may hold a secret."""
    rest = [word for word in words if word not in ("--local", "--global", "--system", "--worktree", "--includes")]
    if rest[:1] == ["get"]:
        rest = [word for word in rest[1:] if word not in ("--all", "--show-origin", "--show-scope")]
    elif rest and rest[0] in CONFIG_VERBS:
        return None
    if rest[:1] in (["--get"], ["--get-all"], ["--show-origin"]):
        rest = rest[1:]
    if len(rest) != 1 or rest[0] is None or not _SETTING.fullmatch(rest[0]) or _SECRETIVE.search(rest[0]):
        return None
    return Reading(paths=[(each, "name") for each in folders])


def _folders(options: Sequence[Argument]) -> list[Argument] | None:
    """The folder of ``-C``; None where an option in front of the subcommand isn't known to be harmless."""
    folders: list[Argument] = []
    at = 0
    while at < len(options):
        word = options[at].static
        if word == "-C" and at + 1 < len(options) and not folders:
            folders.append(options[at + 1])
            at += 2
        elif word in _GIT_ALONE:
            at += 1
        else:
            return None
    return folders


def _revision(argument: Argument) -> bool:
    """Whether what isn't known is a hash, a number or a date."""
    return bool(argument.texts) and not argument.open and all(DIGITS in text for text in argument.texts)


def _like_a_path(argument: Argument) -> bool:
    return any(
        value.text.startswith(("/", "~", "../")) or "/../" in value.text or value.text == ".."
        for value in argument.values
    )

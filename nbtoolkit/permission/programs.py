"""What kinds of programs there are, as far as judging a command depends on it: one list each, in one place."""

from __future__ import annotations

import re

__all__ = ["CODE", "RUNNERS_OF_ANYTHING", "SHELLS", "STRANGE_SHELLS", "SUBCOMMANDS", "family", "program_name"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Shells whose lines are near enough to bash's to be judged.
SHELLS = _words("sh bash dash zsh ksh mksh lksh oksh pdksh ash yash posh sash osh rbash rzsh rksh")
# Shells whose grammar is another one.
STRANGE_SHELLS = _words("fish csh tcsh pwsh powershell xonsh nu elvish ysh rc es ion murex")

_LANGUAGES = _words(
    "python ipython pypy bpython ptpython perl raku ruby irb jruby node nodejs deno bun tsx ts-node Rscript R littler julia "
    "php lua luajit awk gawk mawk nawk original-awk goawk sed sqlite sqlite3 psql mysql mariadb duckdb jq yq osascript tclsh "
    "wish expect octave gnuplot m4 dc bc ed ex vi vim nvim emacs guile racket sbcl clisp ghci runghc scala groovy kotlin jshell "
    "swift go-run erl elixir iex ocaml gdb lldb make gmake socat ncat nc"
)
# Programs whose words may hold code: texts in them count as what the code names.
CODE = _LANGUAGES | SHELLS | STRANGE_SHELLS

# They run what some of their words say, in a container, an environment or a session: deny and ask rules may mean it.
RUNNERS_OF_ANYTHING = CODE | _words(
    "docker podman nerdctl buildah kubectl oc lxc incus machinectl flatpak snap vagrant ip npx npm pnpm yarn bunx uvx pipx pixi "
    "direnv dotenv doppler op aws-vault nix nix-shell guix asdf pyenv rbenv nodenv bundle mise rtx volta tmux screen dtach abduco "
    "at batch just task tox nox git-for-each-repo heroku fly gcloud az modal dstack sky ray accelerate torchrun parallel pssh "
    "ansible fab salt newgrp sg qemu-x86_64 qemu-aarch64 wine box64 hyperfine entr nodemon watchexec cargo"
)

# The second word belongs to the command's name.
SUBCOMMANDS = _words(
    "git pip pip3 npm pnpm yarn docker podman kubectl conda mamba uv poetry cargo go gh glab dvc mlflow jupyter brew apt apt-get "
    "dnf yum systemctl make just hatch pdm terraform helm aws gcloud az rustup bun deno ruff wandb kaggle dbt snow"
)

# GNU's programs under the names that other systems give them.
_GNU = _words(
    "awk chmod chown chgrp chroot cp date dd env find head install kill ln make mv nice nohup numfmt printenv readlink realpath rm "
    "rmdir sed shred sort split stat stdbuf tail tar tee test timeout touch tr truncate xargs"
)
# No program has a longer name, and its end would be looked for from each of its letters.
LONGEST_NAME = 100
_VERSION = re.compile(r"-?\d+(?:\.\d+)*\Z")


def program_name(text: str) -> str:
    """A program's last path part, in the form in which rules name it."""
    return text.rstrip("/").rpartition("/")[2] or text


def family(text: str) -> str:
    """The program that this one is by another name: ``/usr/bin/python3.12`` is python, ``gtimeout`` timeout."""
    name = program_name(text).removesuffix(".exe")
    if name not in _CASED:
        name = name.casefold()
    if name in _KNOWN:
        return name
    if name[:1] == "g" and name[1:] in _GNU:
        return name[1:]
    if len(name) > LONGEST_NAME:
        return name
    short = _VERSION.sub("", name)
    return short if short in _KNOWN else name


_CASED = frozenset({"R", "Rscript"})
_KNOWN = RUNNERS_OF_ANYTHING

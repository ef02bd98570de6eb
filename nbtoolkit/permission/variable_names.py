"""What the names of variables tell: which decide what other commands run, which the shell sets by itself."""

from __future__ import annotations

import re

__all__ = ["BASH_SETS", "FOLDERS_AND_HOSTS", "NUMBERS", "changes_what_runs"]

BASH_SETS = re.compile(
    r"(?:BASH.*|RANDOM|SRANDOM|SECONDS|LINENO|UID|EUID|PPID|PWD|OLDPWD|IFS|OPT.*|HOST.*|OSTYPE|MACHTYPE|SHLVL|_|REPLY"
    r"|DIRSTACK|PIPESTATUS|FUNCNAME|GROUPS|EPOCH.*|COLUMNS|LINES|MAPFILE|READLINE.*|COMP.*|\d|[@*-])\Z"
)
NUMBERS = re.compile(r"(?:S?RANDOM|SECONDS|LINENO|E?UID|PPID|EPOCH\w*|COLUMNS|LINES|SHLVL)\Z")
FOLDERS_AND_HOSTS = re.compile(r"(?:PWD|OLDPWD|HOST\w*|OSTYPE|MACHTYPE)\Z")
# What a program loads, calls or trusts because of a variable.
_CHANGES = re.compile(
    r"(?:LD_\w+|DYLD_\w+|PATH|PYTHON\w*|BASH\w*|ENV|GIT_\w+|\w*PAGER|EDITOR|VISUAL|BROWSER|IFS|PS[0-4]|PROMPT_COMMAND|SHELL"
    r"|SHELLOPTS|CDPATH|GLOBIGNORE|HOME|HISTFILE|PERL5\w*|PERLLIB|RUBY\w+|NODE_\w+|GEM_\w+|LESS\w*|MAN\w*|JAVA_TOOL_OPTIONS"
    r"|_JAVA_OPTIONS|CLASSPATH|LUA_\w+|R_\w+|RIPGREP_CONFIG_PATH|TAR_OPTIONS|GCONV_PATH|LOCPATH|HGRCPATH|SSH_\w+|SUDO_\w+"
    r"|TMPDIR|XDG_\w+|PIP_\w+|UV_\w+|CONDA_\w+|JUPYTER\w*|IPYTHON\w*|NBTOOLKIT\w*|CC|CXX|LD|MAKEFLAGS|CARGO_\w+|RUSTC\w*"
    r"|npm_config_\w+|NPM_CONFIG_\w+|https?_proxy|all_proxy|HTTPS?_PROXY|ALL_PROXY|SSL_\w+|CURL_\w+|REQUESTS_CA_BUNDLE"
    r"|OPENSSL_\w+|DOCKER_\w+|KUBECONFIG|AWS_\w+|FPATH|ZDOTDIR|INPUTRC|TERMINFO\w*|POSIXLY_CORRECT)\Z"
)


def changes_what_runs(name: str) -> bool:
    """Whether a variable of this name decides what other commands run or trust."""
    return _CHANGES.match(name) is not None

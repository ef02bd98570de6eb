"""The table of ``wrappers``: programs that run the command behind their own words, and how to find it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ANY_WAY", "RUN", "RUNNERS", "WRAPPERS", "Wrapper"]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the command: options with a value, options alone, words before the command."""

    valued: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    before: int = 0
    assignments: bool = False
    joined: bool = False
    """Its words are joined and given to a shell."""
    appends: bool = False
    """It adds words of its own to the command."""


def _wrapper(
    valued: str = "",
    alone: str = "",
    before: int = 0,
    *,
    assignments: bool = False,
    joined: bool = False,
    appends: bool = False,
) -> Wrapper:
    return Wrapper(frozenset(valued.split()), frozenset(alone.split()), before, assignments, joined, appends)


WRAPPERS: dict[str, Wrapper] = {
    "sudo": _wrapper(
        "-u --user -g --group -C -D --chdir -h --host -p --prompt -R --chroot -T -r --role -t --type -U",
        "-A -b -E -H -i -k -K -n -P -S -s -v -l -e -N --login --shell --preserve-env --stdin --non-interactive --set-home",
        assignments=True,
    ),
    "doas": _wrapper("-u -C", "-n -s -L"),
    "env": _wrapper("-u --unset -C --chdir", "-i --ignore-environment -0 --null -v --debug -", assignments=True),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c --class -n --classdata -p -P -u", "-t --ignore"),
    "timeout": _wrapper("-k --kill-after -s --signal", "--preserve-status --foreground -v --verbose", 1),
    "nohup": _wrapper(),
    "time": _wrapper("-f --format -o --output", "-p --portability -v --verbose -a --append -q"),
    "command": _wrapper("", "-p"),
    "builtin": _wrapper(),
    "exec": _wrapper("-a", "-c -l -cl -lc"),
    "setsid": _wrapper("", "-c -f -w --ctty --fork --wait"),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "unbuffer": _wrapper("", "-p"),
    "chroot": _wrapper("", "--skip-chdir", 1),
    "taskset": _wrapper("", "-a -c --cpu-list", 1),
    "chrt": _wrapper("-T -P -D", "-b -f -i -o -r -d -R -a -v", 1),
    "numactl": _wrapper("-i -m -N -C -p", "-l"),
    "cpulimit": _wrapper("-l -p -e", "-i -z -b -q -f"),
    "unshare": _wrapper("-S -G -R -w", "-m -u -i -n -p -U -C -T -f -r -c"),
    "nsenter": _wrapper("-t -S -G", "-m -u -i -n -p -U -C -T -F -a"),
    "systemd-run": _wrapper("-p --unit -u --slice -E", "-t -P -q -G --user --scope --pty --pipe --wait"),
    "flock": _wrapper("-w --timeout -E", "-s -x -e -n -o -u -F", 1),
    "strace": _wrapper(
        "-e -o -p -s -u -E -a -I -O -P -S -X -b", "-f -ff -c -C -d -i -k -q -r -t -tt -ttt -T -v -V -w -x -xx -y -yy"
    ),
    "ltrace": _wrapper("-e -o -p -s -u -n -l -a -A -x", "-f -c -C -d -i -r -t -T -S -V"),
    "valgrind": _wrapper(),
    "catchsegv": _wrapper(),
    "fakeroot": _wrapper("-l -s -i -b", "-u -h -v --"),
    "caffeinate": _wrapper("-t -w", "-d -i -m -s -u"),
    "proxychains": _wrapper("-f", "-q"),
    "proxychains4": _wrapper("-f", "-q"),
    "torsocks": _wrapper(),
    "pkexec": _wrapper("-u --user", "--disable-internal-agent"),
    "runuser": _wrapper("-u -g -G", "-l -m -p"),
    "gosu": _wrapper("", "", 1),
    "setpriv": _wrapper(),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "dbus-run-session": _wrapper(),
    "xvfb-run": _wrapper("-e -f -n -p -s -w", "-a -l"),
    "chpst": _wrapper("-u -U -b -e -/ -C -n -l -L -m -d -o -p -f -c -t -r", "-v -P -0 -1 -2"),
    "xargs": _wrapper(
        "-a --arg-file -d --delimiter -E -I -L -n -P -s --max-args --max-procs --max-chars",
        "-i -l -e --replace --max-lines --eof -0 -o -p -r -t -x --null --no-run-if-empty --verbose --interactive --open-tty --exit",
        appends=True,
    ),
    "watch": _wrapper("-n --interval -q", "-b -c -d -e -g -p -t -w -x", joined=True),
    "parallel": _wrapper("-j --jobs -a -I -N -n", "-0 -k -X -m -q", joined=True, appends=True),
    "rtk": _wrapper(),
    "poetry": _wrapper(before=1),
    "pipenv": _wrapper(before=1),
    "pdm": _wrapper(before=1),
    "hatch": _wrapper(before=1),
    "rye": _wrapper(before=1),
}
# uv run and conda run.
RUN = _wrapper(
    "--with --with-editable --with-requirements --python -p --extra --no-extra --group --no-group --only-group --env-file --directory "
    "--project --package --index --index-url --default-index --extra-index-url -i --find-links -f --config-file --cache-dir --color "
    "--refresh-package --link-mode --resolution --prerelease --exclude-newer -n --name --prefix --cwd",
    "-q --quiet -v --verbose --isolated --no-project --active --frozen --locked --no-sync --exact --all-extras --no-dev --dev "
    "--only-dev --all-groups --no-env-file --offline --no-progress --native-tls --all-packages --no-capture-output --live-stream "
    "--no-config",
)
# The second word of these must be "run" for the rest to be a command.
RUNNERS = frozenset({"poetry", "pipenv", "pdm", "hatch", "rye"})
# Their options are their own; any word may be the program.
ANY_WAY = frozenset(
    [
        "firejail",
        "bwrap",
        "perf",
        "nsys",
        "ncu",
        "mpirun",
        "mpiexec",
        "srun",
        "rlwrap",
        "chronic",
        "gdb",
        "lldb",
        "dbus-launch",
        "ssh-agent",
        "tsocks",
        "entr",
        "daemonize",
        "start-stop-daemon",
        "proot",
        "cgexec",
        "prlimit",
        "choom",
        "ts",
        "unbuffer",
        "faketime",
        "su-exec",
        "tini",
        "dumb-init",
        "catatonit",
        "setuidgid",
        "softlimit",
        "envdir",
        "envuidgid",
        "s6-setuidgid",
        "s6-softlimit",
        "s6-envdir",
        "schedtool",
        "trickle",
        "nocache",
        "cgexec",
        "sem",
        "eatmydata",
        "torsocks",
        "runcon",
        "aa-exec",
        "systemd-inhibit",
        "timelimit",
    ]
)

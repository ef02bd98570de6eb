"""The tables of ``readonly``: each program with the flags that leave it reading, as data.

``@abc`` are flags of one letter, ``-x=`` takes a value, ``-x<`` a file to read, ``-x>`` one to write, ``--long?`` an
optional value behind ``=``, ``NUM`` allows ``-5``. After ``;`` comes what the other words are: files (read), names (only
looked up), one or onename (at most one), text+files (a pattern first), any (no files), anything (options too), plus (``+format``), none.

What is missing is missing on purpose: sort -o, date -s, uniq's second word, find -fprint, rg --pre, xxd -r, tail
--follow with a retry, column's and less's way to run programs.
"""

from __future__ import annotations

__all__ = ["EDITS", "PROGRAMS"]

_HELP = "--help --version"

_GREP = (
    "@abcEFGHhiIlLnoPqrRsTuUvVwxyzZ -A= -B= -C= -e= -f< -m= --after-context= --before-context= --context= --basic-regexp "
    "--extended-regexp --fixed-strings --perl-regexp --regexp= --file< --ignore-case --no-ignore-case --invert-match --word-regexp "
    "--line-regexp --count --color? --colour? --files-without-match --files-with-matches --max-count= --only-matching --quiet "
    "--silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number --initial-tab --null --text "
    "--binary-files= --exclude= --exclude-dir= --exclude-from< --include= --recursive --dereference-recursive --null-data NUM"
)
_RG = (
    "@aceFHhiIlLnNopPqsSvVwxU -A= -B= -C= -e= -f< -g= -j= -m= -M= -r= -t= -T= --after-context= --before-context= --context= --regexp= "
    "--file< --glob= --iglob= --ignore-case --smart-case --case-sensitive --fixed-strings --line-number --no-line-number --with-filename "
    "--no-filename --count --count-matches --files --files-with-matches --files-without-match --invert-match --max-count= --max-depth= "
    "--max-columns= --multiline --multiline-dotall --only-matching --pcre2 --quiet --replace= --sort= --sortr= --stats --text --type= "
    "--type-not= --type-list --word-regexp --line-regexp --color= --heading --no-heading --json --trim --vimgrep --column --no-config "
    "--no-messages --null --passthru"
)
_SUM = "@bctwzq --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn"

PROGRAMS: dict[str, str] = {
    # Words in, words out.
    "echo": "; anything",
    "true": "; anything",
    "false": "; anything",
    ":": "; anything",
    "seq": "@w -f= -s= --equal-width --format= --separator= NUM; any",
    "basename": "@az -s= --multiple --suffix= --zero; any",
    "dirname": "@z --zero; any",
    "expr": "; any",
    "sleep": "; any",
    "yes": "; any",
    "factor": "; any",
    "numfmt": "-d= --delimiter= --field= --format= --from= --to= --suffix= --padding= --header? --grouping --round= --invalid=; any",
    # Who, where, what.
    "pwd": "@LP; none",
    "dirs": "@lpv; none",
    "whoami": f"{_HELP}; none",
    "id": "@agGnruzZ --group --groups --name --real --user --zero; any",
    "groups": "; any",
    "hostname": "@fsidIA; none",
    "uname": "@asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor; none",
    "arch": "; none",
    "nproc": "--all --ignore=; none",
    "uptime": "@psV; none",
    "free": "@bkmghltwv --human --mebi --gibi --total -s= -c=; none",
    "lscpu": "@aeJp; none",
    "lsblk": "@abdflnpJ -o=; none",
    "tty": "@s; none",
    "who": "@abdHlmpqrsTtu; none",
    "date": "@uRI -d= -r< --date= --utc --universal --reference< --iso-8601? --rfc-3339= --rfc-email; plus",
    "cal": "@13jmsy; any",
    "locale": "@ackm; any",
    "getconf": "@a; any",
    "times": "; none",
    "jobs": "@lnprs; none",
    "type": "@aftpP; any",
    "which": "@as --all; any",
    "whereis": "@bmsu; any",
    "nvidia-smi": "-L -q -l= --query-gpu= --format= --list-gpus --query-compute-apps= -i=; none",
    # Looking up names.
    "ls": "@1AaBbCcdFfGghHiIkLlmNnopqQRrSsTtUuvwXxZ --all --almost-all --author --color? --directory --classify? --full-time "
    "--group-directories-first --human-readable --si --inode --indicator-style= --no-group --quote-name --reverse --recursive "
    "--size --sort= --time= --time-style= --width= --ignore= --hide= --numeric-uid-gid --dereference --zero -I= -w=; names",
    "tree": "@adfiCnpugshDFrtUJX -L= -P= -I= --noreport --dirsfirst --du --si --prune --gitignore --charset= --filelimit= --matchdirs; names",
    "stat": "@Lftc -c= --dereference --file-system --format= --printf= --terse; names",
    "du": "@abcDhHklLmPsSx0 -d= -t= --all --apparent-size --bytes --total --human-readable --max-depth= --summarize --si --threshold= "
    "--exclude= --time? --one-file-system; names",
    "df": "@ahHiklPT -t= -x= -B= --all --human-readable --total --type= --print-type --inodes --output?; names",
    "realpath": "@eLmPqsz --canonicalize-existing --canonicalize-missing --relative-to= --relative-base= --strip --zero; names",
    "readlink": "@efmnqsvz --canonicalize --no-newline; names",
    "file": "@bhikLrs0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference -F= -e=; names",
    "cd": "@LPe; onename",
    "pushd": "; onename",
    # Reading files.
    "cat": "@AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs --squeeze-blank; files",
    "tac": "@b -s= --before --separator=; files",
    "head": "@qvz -c= -n= --bytes= --lines= --quiet --silent --verbose --zero-terminated NUM; files",
    "tail": "@qvz -c= -n= --bytes= --lines= --quiet --silent --verbose --zero-terminated NUM; files",
    "nl": "@p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w=; files",
    # It tells how much there is, not what.
    "wc": "@clmwL --bytes --chars --lines --words --max-line-length --total=; counts",
    "sort": "@bcCdfghiMnrRsuVz -k= -t= -S= --key= --field-separator= --buffer-size= --parallel= --ignore-leading-blanks --dictionary-order "
    "--ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting --month-sort --numeric-sort --random-sort "
    "--reverse --version-sort --stable --unique --zero-terminated --check? --sort= --debug -m --merge; files",
    "uniq": "@cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --all-repeated? "
    "--group? --zero-terminated; one",
    "cut": "@nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= "
    "--zero-terminated; files",
    "paste": "@sz -d= --delimiters= --serial --zero-terminated; files",
    "join": "@iz -a= -e= -j= -o= -t= -v= -1= -2= --ignore-case --header --check-order --nocheck-order; files",
    "comm": "@123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated; files",
    "tr": "@cCdst --complement --delete --squeeze-repeats --truncate-set1; any",
    "rev": "; files",
    "fold": "@bs -w= --bytes --spaces --width=; files",
    "fmt": "@cstu -w= -g= -p=; files",
    "expand": "@i -t= --initial --tabs=; files",
    "unexpand": "@a -t= --all --first-only --tabs=; files",
    "column": "@tx -c= -s= -o= -N= -R= -H= --table --separator= --output-separator= --table-columns=; files",
    "od": "@abcdfhilosxv -A= -j= -N= -S= -t= -w? --address-radix= --format= --read-bytes= --skip-bytes=; files",
    "hexdump": "@bcCdovx -n= -s=; files",
    "strings": "@afo -n= -t= -e= --all --bytes= --radix= --encoding= NUM; files",
    "diff": "@abBcdeEfHiNnpqrstTuvwy -C= -I= -U= -W= -x= --brief --color? --context? --unified? --ignore-all-space --ignore-blank-lines "
    "--ignore-case --ignore-space-change --new-file --recursive --report-identical-files --side-by-side --suppress-common-lines "
    "--text --width= --exclude= --label= --minimal --no-dereference --strip-trailing-cr; files",
    "cmp": "@bls -i= -n= --print-bytes --verbose --silent --quiet --bytes= --ignore-initial=; files",
    "md5sum": f"{_SUM}; files",
    "sha1sum": f"{_SUM}; files",
    "sha224sum": f"{_SUM}; files",
    "sha256sum": f"{_SUM}; files",
    "sha384sum": f"{_SUM}; files",
    "sha512sum": f"{_SUM}; files",
    "b2sum": f"{_SUM} -l= --length=; files",
    "cksum": "-a= --algorithm=; files",
    "sum": "@rs; files",
    "base64": "@di -w= --decode --ignore-garbage --wrap=; one",
    "base32": "@di -w= --decode --ignore-garbage --wrap=; one",
    "zcat": "@f; files",
    "shuf": "@erz -n= -i= --head-count= --input-range= --repeat --zero-terminated; one",
    "bc": "@lqsw -i --mathlib --quiet --standard --warn; files",
    # Without a terminal they only pass on what they read.
    "less": "@SRNXFEiMmQqnrs; files",
    "more": "; files",
    "zipinfo": "@12hlmstvz; one",
    "grep": f"{_GREP}; text+files",
    "egrep": f"{_GREP}; text+files",
    "fgrep": f"{_GREP}; text+files",
    "rg": f"{_RG}; text+files",
}

EDITS: dict[str, str] = {
    "mkdir": "@pv -m= --parents --verbose --mode=; files",
    "rmdir": "@pv --parents --verbose --ignore-fail-on-non-empty; files",
    "touch": "@acmh -d= -t= -r< --date= --reference< --no-create; files",
    "rm": "@rRfdvi --recursive --force --dir --verbose --one-file-system; files",
    "mv": "@fnvuTi -t> --force --no-clobber --verbose --update --no-target-directory --target-directory>; files",
    "cp": "@rRafnpvuTiPLHd -t> --recursive --archive --force --no-clobber --verbose --update --preserve? --no-target-directory "
    "--target-directory> --parents --reflink? --sparse= --no-preserve=; files",
}

"""Another Debian release in a directory, entered by chroot in a mount namespace of its own."""
import subprocess

import pytest

from harness import ROOT

ENTER = """set -e
root=$1; shift
[ -e $root/etc/hosts ] || : >$root/etc/hosts
mount --bind /etc/hosts $root/etc/hosts
for place in $PLACES; do mkdir -p $root$place; mount --bind $place $root$place; done
mount -t proc proc $root/proc
mount --rbind /dev $root/dev
mount --rbind /sys $root/sys
exec chroot $root "$@"
"""


class Debian:
    """A release with packages in it; made when it is first needed and kept outside the tree."""

    def __init__(self, suite, *packages):
        self.suite = suite
        made = subprocess.run([ROOT / "scripts/debian_directory.sh", suite, *packages], capture_output=True, text=True)
        if made.returncode == 77:
            pytest.skip(made.stderr.strip().splitlines()[-1])
        assert made.returncode == 0, made.stderr
        self.root = made.stdout.strip()

    def run(self, bench, command, **environment):
        """Runs a command inside; the installed ddbg, the test's folder and tests/programs lie where they lie outside."""
        places = " ".join(map(str, (bench.prefix, bench.folder, bench.short, ROOT / "tests/programs")))
        inner = ["env"] + ["%s=%s" % item for item in environment.items()] + [str(word) for word in command]
        return subprocess.run(["unshare", "--mount", "sh", "-c", ENTER, "enter", self.root, *inner], cwd="/",
                              env=bench.environment(PLACES=places), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)

"""Hosts that are namespaces of this machine: each has a network, a name, a boot id, a /tmp/ddbg-<uid> and, if it is to,
a time namespace of its own. mpirun runs on the first one and starts the ranks of the others by a remote shell that
enters their namespaces."""
import os
import signal
import subprocess
import sys
import uuid

import pytest

from harness import wait_until
from launchers import PROGRAMS

# The words behind the host's name are one command line, as of ssh.
REMOTE_SHELL = """#!/bin/sh
host=$1
shift
exec %s/enter-$host /bin/sh -c "$*"
"""
ENTER = """#!/bin/sh
%sexec nsenter --target %d --net --uts --mount %s -- "$@"
"""
HOST = ("hostname $NAME && mount --bind $HOSTS_FILE /etc/hosts && mount --bind $BOOT_ID /proc/sys/kernel/random/boot_id && "
        "mkdir -p -m 0700 $PRIVATE && mount -t tmpfs -o mode=0700 tmpfs $PRIVATE && ip link set lo up && "
        "echo ready >$READY && exec sleep 100000")
NAMESPACES = ["unshare", "--net", "--uts", "--mount"]


def need_namespaces():
    """Skips the test where the machine does not allow all that a host needs."""
    probe = "mount --bind /etc/hostname /proc/sys/kernel/random/boot_id && ip link add name ve0 type veth peer name ve1"
    command = [*NAMESPACES, "--time", "--monotonic", "1", "--fork", "/bin/sh", "-c", probe]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs network, mount, UTS and time namespaces of its own, which this machine does not allow")


class Host:
    def __init__(self, number, seconds_ahead):
        self.number = number
        self.name = "node%d" % number
        self.address = "10.77.0.%d" % number
        self.seconds_ahead = seconds_ahead  # of its time namespace; 0: it has none
        self.pid = 0                        # of a process in its namespaces


class NamespaceHosts:
    """`count` hosts on one bridge, node1 to node<count>. `seconds_ahead`: by number of the host, how far its
    CLOCK_MONOTONIC is ahead of the machine's; `hidden`: the hosts where that is not told (skewed_clock.c)."""

    def __init__(self, bench, count, seconds_ahead=None, hidden=()):
        self.bench = bench
        self.hidden = hidden
        self.folder = bench.folder / "hosts"
        self.folder.mkdir()
        self.hosts = [Host(number, (seconds_ahead or {}).get(number, 0)) for number in range(1, count + 1)]
        self.holders = []
        hosts_file = self.folder / "hosts"
        hosts_file.write_text("127.0.0.1 localhost\n" + "".join("%s %s\n" % (h.address, h.name) for h in self.hosts))
        self.remote_shell = self._script("remote-shell", REMOTE_SHELL % self.folder)
        self.switch = self._hold("switch", ["unshare", "--net"], "echo ready >$READY && exec sleep 100000", 0)
        self._ip(self.switch, "link add name bridge0 type bridge")
        self._ip(self.switch, "link set bridge0 up")
        for host in self.hosts:
            self._start(host, hosts_file)

    def _script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def _hold(self, name, namespaces, command, seconds_ahead, **environment):
        """Starts a process that keeps namespaces, and returns its pid."""
        ready = self.folder / ("ready-" + name)
        clock = ["--time", "--monotonic", str(seconds_ahead), "--boottime", str(seconds_ahead), "--fork"]
        kill = ["--kill-child"] if seconds_ahead else []
        job = self.bench.start([*namespaces, *(clock if seconds_ahead else []), *kill, "/bin/sh", "-c", command],
                               READY=ready, NAME=name, **environment)
        self.holders.append(job)
        wait_until(ready.exists, "the namespaces of %s\n%s" % (name, job.stderr))
        if not seconds_ahead:
            return job.popen.pid
        with open("/proc/%d/task/%d/children" % (job.popen.pid, job.popen.pid)) as children:
            return int(children.read().split()[0])

    def _start(self, host, hosts_file):
        boot_id = self.folder / ("boot-" + host.name)
        boot_id.write_text("%s\n" % uuid.uuid4())
        host.pid = self._hold(host.name, NAMESPACES, HOST, host.seconds_ahead, HOSTS_FILE=hosts_file, BOOT_ID=boot_id,
                              PRIVATE="/tmp/ddbg-%d" % os.geteuid())
        export = "export SKEWED_NAMESPACE=hidden\n" if host.number in self.hidden else ""
        self._script("enter-" + host.name, ENTER % (export, host.pid, "--time" if host.seconds_ahead else ""))
        self._ip(self.switch, "link add name %s type veth peer name eth0 netns %d" % (host.name, host.pid))
        self._ip(self.switch, "link set %s master bridge0 up" % host.name)
        self._ip(host.pid, "addr add %s/24 dev eth0" % host.address)
        self._ip(host.pid, "link set eth0 up")

    def _ip(self, pid, words):
        subprocess.run(["nsenter", "--target", str(pid), "--net", "ip", *words.split()], check=True)

    def enter(self, host):
        """The beginning of a command line that runs on that host."""
        return [str(self.folder / ("enter-" + host.name))]

    def delay(self, one, two, ms):
        """From now on each packet between two hosts (numbers) takes `ms` one way; others go as before."""
        name = "line%d%d" % (one, two)
        hosts = [self.hosts[number - 1] for number in (one, two)]
        job = self.bench.start([sys.executable, PROGRAMS / "delay_line.py", name, ms, *(host.pid for host in hosts)])
        self.holders.append(job)
        wait_until(lambda: "ready" in job.stdout, "the line between the hosts\n%s" % job.stderr)
        for host, other in (hosts, hosts[::-1]):
            self._ip(host.pid, "link set %s up" % name)
            self._ip(host.pid, "route add %s/32 dev %s src %s" % (other.address, name, host.address))

    def start_collectors(self, **environment):
        """One on each host, in `environment`; otherwise the first rank of a host starts one."""
        for host in self.hosts:
            command = [self.bench.prefix / "bin/ddbg-collector", "--foreground", "--idle-seconds", 30]
            job = self.bench.start(self.enter(host) + command, DDBG_SOCKET=None, **environment)
            socket = "/proc/%d/root/tmp/ddbg-%d/collector.sock" % (host.pid, os.geteuid())
            wait_until(lambda: os.path.exists(socket), "the collector of %s\n%s" % (host.name, job.stderr))

    def library(self, name):
        """tests/programs/`name`.c, to be preloaded."""
        library = self.folder / (name + ".so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, PROGRAMS / (name + ".c"), "-ldl"], check=True)
        return library

    def mpirun(self, mpi, ranks, program, below=(), **environment):
        """Starts `program` with `ranks` on each host, over TCP, traced; libraries `below` are preloaded before ours."""
        preload = ":".join(map(str, [*below, self.bench.library, self.library("yield_when_idle")]))
        command = mpi.command_over_hosts([host.name for host in self.hosts], ranks, program, preload, self.remote_shell)
        return self.bench.start(self.enter(self.hosts[0]) + command, DDBG_SOCKET=None,
                                **{"DDBG_RUN_ID": "over-hosts", **environment})

    def end_ranks(self):
        """Ends what was started by mpirun, and mpirun."""
        holders = {host.pid for host in self.hosts} | {job.popen.pid for job in self.holders}
        for process in self.bench.processes():
            if process.pid not in holders and process.exe() != "ddbg-collector" and "DDBG_RUN_ID" in process.environment:
                process.signal(signal.SIGKILL)

    def close(self):
        for holder in self.holders:
            if holder.running():
                holder.signal(signal.SIGKILL)
                holder.popen.wait()

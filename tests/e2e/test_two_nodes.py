"""One job over two nodes, started as docker/compose.yaml starts it; the nodes are namespaces with host names of their own."""
import signal

from harness import ROOT
from verdicts import assert_at, assert_fault, shown

NODE = ("hostname node$NODE && mount --bind $HOSTS /etc/hosts && mkdir -p -m 0700 $PRIVATE && "
        "mount -t tmpfs -o mode=0700 tmpfs $PRIVATE && exec %s/docker/two_nodes.sh 4 $PROGRAM" % ROOT)


def start_node(bench, number, program):
    hosts = bench.folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.0.1 node1\n127.0.0.1 node2\n")
    (bench.folder / "launch").mkdir(exist_ok=True)
    # Each node has a /tmp/ddbg-<uid> and so a collector of its own.
    return bench.start(["unshare", "--mount", "--uts", "/bin/sh", "-c", NODE], NODE=number, HOSTS=hosts, PROGRAM=program,
                       PRIVATE="/tmp/ddbg-0", DDBG_SOCKET=None, DDBG_LIBRARY=bench.library,
                       LAUNCH_DIR=bench.folder / "launch")


def test_verdict_over_two_nodes(bench, build, mpich, as_root):
    program = build(mpich, "b01_extra_barrier.c")
    nodes = [start_node(bench, number, program) for number in (1, 2)]
    verdict = bench.diagnose_until("callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", rank=0, seq=3, host="node1")
    assert_at(verdict, "save", "b01_extra_barrier.c", "save")
    assert len(bench.rank_files()) == 4
    assert {process["host"] for process in bench.info()["ranks"]} == {"node1", "node2"}
    assert len(bench.collectors()) == 2, shown(verdict)
    for process in bench.processes():
        if process.exe().startswith("mpiexec"):
            process.signal(signal.SIGTERM)
    for node in nodes:
        node.wait()

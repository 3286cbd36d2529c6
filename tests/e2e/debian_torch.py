"""PyTorch of a Debian release (debian.py) under torchrun and other launchers, with a collector outside of its directory."""
from debian import Debian
from harness import start_collector

# torchrun of PyTorch 1.13 fails on Python 3.11 by itself: an enum there formats as its name.
REPAIR = """import importlib.abc, importlib.machinery, sys


class Repair(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "torch.distributed.elastic.multiprocessing.api":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            none = module.Std.NONE
            module.Std.from_str = classmethod(lambda cls, text, load=module.Std.from_str: load(text) or none)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Repair())
"""


class Torch:
    """Jobs of one test in one release."""

    def __init__(self, bench, suite, *packages):
        self.bench = bench
        self.suite = suite
        self.directory = Debian(suite, "python3-torch", "libunwind8", *packages)
        self.collector = start_collector(bench, idle_seconds=600)
        if suite == "bookworm":
            (bench.folder / "sitecustomize.py").write_text(REPAIR)

    def run(self, *command, preload=True, **environment):
        if preload:
            environment["LD_PRELOAD"] = self.bench.library
        # Debian's PyTorch has no libuv: the rendezvous is a file.
        return self.directory.run(self.bench, ["timeout", "110", *command], DDBG_DIR=self.bench.runs, OMP_NUM_THREADS=1,
                                  DDBG_SOCKET=self.bench.short / "s", PYTHONPATH=self.bench.folder, HOME="/tmp",
                                  USE_LIBUV=0, TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, GLOO_SOCKET_IFNAME="lo", **environment)

    def torchrun(self, *more, ranks=2):
        """The command line's beginning, with a meeting place of its own."""
        meeting = self.bench.folder / ("meeting%d" % len(list(self.bench.folder.iterdir())))
        return ["python3", "-m", "torch.distributed.run", "--rdzv_backend", "c10d", "--rdzv_endpoint", meeting, "--rdzv_conf",
                "store_type=file", "--nproc_per_node", ranks, *more]

    def close(self):
        if self.collector:
            self.collector.terminate()
            self.collector.wait()
            self.collector = None

"""A line between two network namespaces on which each packet takes some ms: a TUN device at both ends, and this process in
between, since not every kernel has netem.
    delay_line.py NAME MS PID PID    the device NAME is made in the network namespaces of both processes; prints a line when
                                     it is there"""
import ctypes
import fcntl
import heapq
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def end_in(pid, name):
    """A TUN device in that process's network namespace."""
    namespace = os.open("/proc/%s/ns/net" % pid, os.O_RDONLY)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(namespace)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def deliver(waiting):
    """What is due; returns the seconds until the next packet is, None: there is none."""
    while waiting:
        left = waiting[0][0] - time.monotonic()
        if left > 0:
            return left
        _, _, device, packet = heapq.heappop(waiting)
        try:
            os.write(device, packet)
        except OSError:
            pass  # the device is not up yet: lost, as on any line
    return None


def main(name, ms, *pids):
    ends = [end_in(pid, name) for pid in pids]
    other = dict(zip(ends, reversed(ends)))
    print("ready", flush=True)
    waiting, count = [], 0
    while True:
        readable, _, _ = select.select(ends, [], [], deliver(waiting))
        for device in readable:
            count += 1
            packet = os.read(device, 65536)
            heapq.heappush(waiting, (time.monotonic() + float(ms) / 1000, count, other[device], packet))


if __name__ == "__main__":
    main(*sys.argv[1:])

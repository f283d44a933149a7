dopt-profile 2
field name=step value=1 time=2026-11-20T23:55:01Z
device "cpu" backend "bench 1"
op ranks=1 buffers=step median=-1 spread=0 runs=1 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=a
op ranks=1 buffers=step median=0 spread=0 runs=1 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=a
op ranks=1 buffers=step median=nan spread=0 runs=1 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=a
op ranks=1 buffers=step median=fast spread=0 runs=1 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=a
op buffers=heap ranks=1 median=1 spread=0 runs=1 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=a
op ranks=1 buffers=step median=1 spread=0 runs=1 flops=0 bytes=0 time=2026-11-20T23:55:01Z
collective transport=a kind=shout places=2 nodes=1 bytes=1 median=1 spread=0 runs=1 time=2026-11-20T23:55:01Z
field name=a colour=red value=1 time=2026-11-20T23:55:01Z
note that all is well
device cpu backend "bench 1"
device "cpu" with "bench 1"
field name=step value=4e-06 time=yesterday
field name=a name=b value=1 time=2026-11-20T23:55:01Z
link transport=a kind=send places=2 nodes=1 alpha=0 beta=0 error=0 time=2026-11-20T23:55:01Z
field half

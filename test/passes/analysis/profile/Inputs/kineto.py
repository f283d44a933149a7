"""dopt.kineto on traces of the form that torch.profiler writes: times are those that the events were made with."""
import itertools
import json
import re
import sys
import unittest

from dopt.kineto import Trace, merge

UNEVEN = "without data, uneven, of one rank or of ranks that are not listed"


def kernel(begin, us, name="allreduce", sent=256, received=256, ranks="[0, 1]", of=2, call=None, **args):
    args = {"Collective name": name, "In msg nelems": sent, "Out msg nelems": received, "Group size": of,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": ranks,
            **({} if call is None else {"External id": call}), **args}
    symbol = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    return {"ph": "X", "cat": "kernel", "name": symbol, "pid": 0, "tid": 20, "ts": begin, "dur": us, "args": args}


def trace(events, rank=0, devices=8, base=None, host=None):
    tree = {"schemaVersion": 1, "deviceProperties": [{"id": i, "name": "NVIDIA H100"} for i in range(devices)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events}
    known = {"host_name": host, "baseTimeNanoseconds": base}
    return json.dumps({**tree, **{name: value for name, value in known.items() if value is not None}}, indent=1)


def rows(*texts, per_node=0):
    rows, notes, left = merge([Trace("t", text) for text in texts], per_node)
    return {key: (round(us * 1e6, 6), notes[key].split(",")[0].split()[0]) for key, us, *_ in rows}, left


class Kineto(unittest.TestCase):
    def refused(self, text, line, column, words):
        with self.assertRaises(ValueError) as fault:
            Trace("t", text)
        self.assertTrue(str(fault.exception).startswith(f"t:{line}:{column}: error: "), fault.exception)
        self.assertIn(words, str(fault.exception))

    def test_of_all_ranks_the_last_begin_and_the_last_end_count(self):
        first = trace([kernel(100, 50), kernel(300, 20), kernel(400, 70)])
        second = trace([kernel(120, 31), kernel(310, 12), kernel(460, 10)], rank=1)
        self.assertEqual(rows(first, second)[0], {(0, 2, 1, 1024): (12, "median")})  # 31, 12, 10

    def test_times_are_relative_to_a_base(self):
        first = trace([kernel(100, 50)], base=1712345678000000000)
        second = trace([kernel(20, 31)], rank=1, base=1712345678000100000)  # at 120 of the first
        self.assertEqual(rows(first, second)[0], {(0, 2, 1, 1024): (31, "median")})

    def test_clocks_of_nodes_are_not_compared(self):
        first, second = trace([kernel(100, 50)]), trace([kernel(7000, 31)], rank=1)
        self.assertEqual(rows(first, second, per_node=1)[0], {(0, 2, 2, 1024): (31, "median")})
        _, left = rows(first, second)
        self.assertEqual(left, {"whose ranks do not overlap in time": 2})

    def test_of_one_rank_the_shortest_counts(self):
        one = trace([kernel(100, 50), kernel(200, 30), kernel(300, 40)])
        self.assertEqual(rows(one)[0], {(0, 2, 1, 1024): (30, "shortest")})

    def test_ranks_that_differ_are_not_matched(self):
        first, second = trace([kernel(100, 50), kernel(200, 20)]), trace([kernel(120, 30)], rank=1)
        self.assertEqual(rows(first, second)[0], {(0, 2, 1, 1024): (20, "shortest")})
        for seq, what in ((7, (30, "median")), (8, (30, "shortest"))):
            first, second = trace([kernel(100, 50, Seq=7)]), trace([kernel(120, 30, Seq=seq)], rank=1)
            self.assertEqual(rows(first, second)[0], {(0, 2, 1, 1024): what})

    def test_sizes_are_of_the_whole(self):
        found, left = rows(trace([
            kernel(100, 1, "_allgather_base", 64, 128), kernel(200, 2, "_reduce_scatter_base", 128, 64),
            kernel(300, 3, "all_to_all", 128, 128), kernel(400, 4, "broadcast", 8, 8, dtype="BFloat16"),
            kernel(500, 5, "all_to_allv", 128, 128, **{"In split size": "[100, 28]"}), kernel(600, 6, "barrier", 1, 1),
            kernel(700, 7, "all_gather", 64, 100), kernel(800, 0), kernel(900, 9, of=1), kernel(1000, 9, "send")]))
        self.assertEqual({k: us for k, (us, _) in found.items()},
                         {(3, 2, 1, 512): 1, (6, 2, 1, 512): 2, (7, 2, 1, 512): 3, (2, 2, 1, 16): 4})
        self.assertEqual(left, {UNEVEN: 3, "'barrier' of type 'Float'": 1,
                                "that take no time": 1, "'send' of type 'Float'": 1})

    def test_collectives_that_overlap_are_left_out(self):
        found, left = rows(trace([kernel(100, 50), kernel(149, 30), kernel(170, 4), kernel(179, 5)]))
        self.assertEqual((found, left), ({(0, 2, 1, 1024): (5, "shortest")}, {"that overlap others": 3}))

    def test_a_kernel_without_args_has_those_of_its_call(self):
        record = {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 7, "tid": 7, "ts": 1, "dur": 9,
                  "args": kernel(0, 0, call=41)["args"]}
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 2, "dur": 3,
                  "args": {"External id": 41, "correlation": 9}}
        for args in ({"External id": 41}, {"correlation": 9}, {"External id": 9, "correlation": 9}):
            bare = {**kernel(100, 50), "args": args}
            self.assertEqual(rows(trace([record, launch, bare]))[0], {(0, 2, 1, 1024): (50, "shortest")})
        self.assertEqual(rows(trace([launch, bare]))[1], {"without args": 1})
        again = {**kernel(200, 50), "args": args}
        self.assertEqual(rows(trace([record, launch, bare, again]))[1], {"of several kernels": 2})

    def test_ranks_tell_the_nodes(self):
        for ranks, n, nodes in (("[0, 8, 16, 24]", 4, 4), ("[0, 1, 2, 3]", 4, 1), ("[0, 4, 8, ...]", 8, 4)):
            self.assertEqual([*rows(trace([kernel(1, 2, ranks=ranks, of=n)]))[0]], [(0, n, nodes, 1024)])
        self.assertEqual([*rows(trace([kernel(1, 2, ranks="")]))[0]], [(0, 2, 1, 1024)])  # all there are
        self.assertEqual(rows(trace([kernel(1, 2, ranks="", of=4), kernel(5, 2, of=4)]))[1], {UNEVEN: 2})

    def test_hosts_are_nodes(self):
        def at(rank, host):
            return trace([kernel(1, 2)], rank, 1, host=host)

        self.assertEqual([*rows(at(0, "x"), at(1, "y"))[0]], [(0, 2, 2, 1024)])
        self.assertEqual([*rows(at(0, "x"), at(1, "x"))[0]], [(0, 2, 1, 1024)])
        self.assertEqual([*rows(at(0, "x"), at(1, "x"), per_node=1)[0]], [(0, 2, 2, 1024)])
        with self.assertRaisesRegex(ValueError, "t:1:1: error: .*--per-node"):
            rows(at(0, "x"))

    def test_faults_have_their_place(self):
        text = trace([{"ph": "M", "name": "process_name"}, kernel(1, 2)])
        at = text[:text.index('"cat": "kernel"')].count("\n") - 1  # of {, two lines above
        self.refused(text.replace('"Group size": 2', '"Group size": "two"'), at, 3, "expected numbers")
        self.refused(text.replace('"dur": 2', '"dur": null'), at, 3, "no numbers")
        self.refused("[]", 1, 1, "not a trace of torch.profiler")
        for text in ('{"traceEvents": [7]}', '{"traceEvents": [], "deviceProperties": 8}', "7"):
            self.refused(text, 1, 1, "not a trace of torch.profiler")

    def test_any_damage_is_survived(self):
        text = trace([kernel(100, 50, call=3), kernel(200, 30, "_allgather_base", 64, 128)])
        values = [m.span() for m in re.finditer(r'(?<=: )("[^"]*"|\d+)', text)]
        cuts = [(i, i + 1) for i in range(len(text))]
        others = ("", "9", "-", '"', "[", "[1]", "{}", "null", "1e999", '"x"')
        for (i, end), c in itertools.product(cuts + values, others):
            try:
                rows(text[:i] + c + text[end:])
            except json.JSONDecodeError:
                pass
            except ValueError as fault:
                self.assertIn(": error: ", str(fault))


if len(sys.argv) > 1:  # writes traces of two ranks
    for rank, events in enumerate(([kernel(100, 50), kernel(300, 20)], [kernel(120, 30), kernel(310, 10)])):
        gemm = {"ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 9}
        with open(f"{sys.argv[1]}.{rank}.json", "w") as out:
            out.write(trace([*events, kernel(500, 9, "barrier"), gemm], rank))
else:
    unittest.main()

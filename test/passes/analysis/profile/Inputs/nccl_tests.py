"""dopt.nccl_tests on texts of the form that the versions print, with times of real runs:

    16 x H100, two nodes, all_reduce_perf: github.com/lessizzmore/create-a3mega-ztan-fork
    2 x A40, sendrecv_perf: NVIDIA/nccl-tests issue 214
    2 x GB10, all_reduce_perf 2.20.0: NVIDIA/dgx-spark-playbooks pull request 103
    8 x V100, all_gather_perf of 2020: NVIDIA/nccl-tests issue 37
"""
import unittest

from dopt.nccl_tests import Reader, write

CONFIG = ("# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
          "validation: 1 graph: 0\n#\n# Using devices\n")
RANKS = ("#  Rank  0 Group  0 Pid 1478709 on      gpu23 device  0 [0x31] NVIDIA A40\n"
         "#  Rank  1 Group  0 Pid 1171742 on      gpu24 device  0 [0x31] NVIDIA A40\n")
COLUMNS = ("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw"
           " #wrong\n")
TABLE = ("#\n#                                                              out-of-place                       in-place\n" +
         COLUMNS + "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)\n")
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.16 \n#\n\n"
ROW = ("         256            64     float     sum      -1    34.24    0.01    0.01      0    33.65    0.01    0.01    "
       "N/A\n")
HEAD = "x/all_reduce_perf\n" + CONFIG + RANKS + TABLE
H100 = {8: (135.8, 123.5), 1024: (147.1, 123.1), 131072: (159.3, 169.0), 1048576: (203.2, 207.2),
        33554432: (1059.9, 1054.0), 8589934592: (47535, 47743)}


def h100():
    ranks = "".join(f"#  Rank {i:2} Group  0 Pid {6899 + i} on ztan-mig-{'235z' if i < 8 else 'gq73'} device {i % 8} "
                    f"[0000:{4 + i:02x}:00] NVIDIA H100 80GB HBM3\n" for i in range(16))
    rows = "".join(f"{n:12}  {n // 4:12}     float     sum      -1  {a}  1.0  1.0      0  {b}  1.0  1.0      0\n"
                   for n, (a, b) in H100.items())
    return "> mpirun -np 16 build/all_reduce_perf -b 8 -e 8G -f 2\n\n" + CONFIG + ranks + TABLE + rows + END


def read(text, kind=None, ranks=0):
    reader = Reader("t", kind, ranks)
    reader.read(text)
    return reader


class NcclTests(unittest.TestCase):
    def refused(self, text, line, column, words):
        faults = read(text).faults
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(f"t:{line}:{column}: error: ") and words in faults[0], faults)

    def test_an_allreduce_of_two_nodes_is_read(self):
        rows = read(h100()).rows
        self.assertEqual([key for key, *_ in rows], [(0, 16, 2, n) for n in H100])
        for (_, seconds, spread, runs), (a, b) in zip(rows, H100.values()):
            self.assertAlmostEqual(seconds / ((a + b) / 2e6), 1, delta=1e-9)
            self.assertAlmostEqual(spread, abs(a - b) / ((a + b) / 2), delta=1e-9)
            self.assertEqual(runs, 40)

    def test_newer_versions_name_the_test_and_have_more_columns(self):
        r = read("# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102\n"
                 "# Collective test starting: all_reduce_perf\n" +
                 CONFIG.replace("warmup iters: 5 iters: 20", "warmup iters: 10 iters: 100") + RANKS +
                 COLUMNS.replace("\n", "           timestamp\n") +
                 "  8192  2048  float  sum  -1  35.15  0.23  0.23  0  30.33  0.27  0.27    0  2026-01-05 10:00:00\n"
                 "spark-d708:1:2 NCCL INFO something else\n"
                 " 16384  4096  float  sum  -1  31.67  0.52  0.52  0  30.75  0.53  0.53  N/A  2026-01-05 10:00:01\n" +
                 END + "# Collective test concluded: all_reduce_perf\n")
        self.assertEqual([runs for *_, runs in r.rows], [200, 200])
        self.assertAlmostEqual(r.rows[1][1], 31.21e-6, delta=1e-12)

    def test_older_versions_have_an_error_in_place_of_wrong(self):
        r = read("all_gather_perf -g 2 -b 4294967296 -e 4294967296 -n 100\n"
                 "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 1(bytes) warmup iters: 5 iters: 100 validation: 1\n"
                 "# Using devices\n#   Rank  0 Pid  71327 on 51e6 device  0 [0x1a] Tesla V100\n"
                 "#   Rank  1 Pid  71327 on 51e6 device  1 [0x1b] Tesla V100\n"
                 "#   size   count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
                 "  4294967296     536870912   float    29122  129.05  129.05  1e-07    29169  128.84  128.84  0e+00\n"
                 "# Out of bounds values : 0 OK\n")
        (kind, places, nodes, size), seconds, *_ = r.rows[0]
        self.assertEqual((len(r.rows), kind, places, nodes, size), (1, 3, 2, 1, 4294967296))
        self.assertAlmostEqual(seconds, 29145.5e-6, delta=1e-12)

    def test_tests_stand_one_after_another_and_types_of_a_size_are_one(self):
        tagged = "".join("[1,0]<stdout>:" + line + "\n" for line in (
            COLUMNS.rstrip(), "   0     0     float     sum      -1     5.70   0.00  0.00      0     5.54    0.00    0.00      0",
            " 128    16     float     sum      -1    32.31   0.00   0.00      0    25.35    0.01    0.00      0",
            " 128    32      half     sum      -1    34.31   0.00   0.00      0    27.35    0.01    0.00      0"))
        r = read("$ ./sendrecv_perf\n" + CONFIG + RANKS + TABLE + ROW + END +
                 "$ mpirun --tag-output ./reduce_scatter_perf_mpi\n" + CONFIG + RANKS + tagged + END)
        self.assertEqual(r.faults, [])
        import io
        out = io.StringIO()
        write(r.rows, "a40", "nccl-tests", out)
        first, second = out.getvalue().splitlines()[3:]
        self.assertRegex(first, "kind=reducescatter places=2 nodes=2 bytes=128 .* runs=80 ")
        self.assertAlmostEqual(float(first.split("median=")[1].split()[0]), (32.31 + 25.35 + 34.31 + 27.35) / 4e6, delta=1e-12)
        self.assertRegex(second, "kind=send places=2 nodes=2 bytes=256 ")

    def test_what_the_text_does_not_say_is_given(self):
        self.refused(CONFIG + RANKS + TABLE + ROW + END, 10, 10, "give the collective that it measured")
        self.refused("all_reduce_perf\n" + TABLE + ROW + END, 6, 10, "does not list the ranks")
        self.assertEqual(read(CONFIG + TABLE + ROW + END, "reduce", 12).rows[0][0], (1, 12, 0, 256))
        self.assertIn("expected 3 ranks, found 2", read(CONFIG + RANKS + TABLE + ROW + END, "reduce", 3).faults[0])
        self.assertIn("the test measured allreduce, not reduce", read(HEAD + ROW + END, "reduce").faults[0])

    def test_wrong_text_is_refused_where_it_is_wrong(self):
        self.refused("", 1, 1, "not nccl-tests output")
        self.refused("op matmul 3us\n", 1, 1, "not nccl-tests output")
        self.refused(HEAD + ROW, 11, len(ROW), "the run is cut off")
        self.refused(HEAD + ROW + "         512           128     float     sum", 12, 10,
                     "the row is cut off: found 4 columns, expected 13")
        for old, new, column, words in (
                ("34.24", " 0.00", 58, "longer than 0.00 us"), (" 33.65", "-33.65", 88, "longer than -33.65 us"),
                ("34.24", "  nan", 59, "expected a time, found 'nan'"),
                ("      0  ", "      7  ", 84, "7 elements of the result are wrong"),
                ("   64 ", "   32 ", 10, "allreduce of 2 ranks: 256 bytes are not 32 elements of 4 bytes")):
            self.refused(HEAD + ROW.replace(old, new) + END, 11, column, words)
        self.refused(HEAD + ROW + "# Out of bounds values : 2 FAILED\n", 12, 1, "2 results are out of bounds")
        self.refused(HEAD.replace("all_reduce", "hypercube") + ROW + END, 11, 10, "does not name the test")
        one = RANKS.split("\n")[0] + "\n"
        self.refused("all_reduce_perf\n" + CONFIG + one + TABLE + ROW + END, 10, 10, "a collective on one rank")
        self.refused("all_reduce_perf\n" + CONFIG + one + one, 6, 1, "build nccl-tests with MPI=1")
        self.refused("all_reduce_perf\n" + CONFIG + RANKS + one.replace("Rank  0 Group  0", "Rank  2 Group  1") + TABLE +
                     ROW + END, 12, 10, "the groups differ in size")
        self.refused("all_reduce_perf\n# size count type redop root cputime algbw busbw #wrong\n", 2, 30, "run without -C")

    def test_any_damage_is_survived(self):
        """Cut off anywhere, changed anywhere: rows or a report, never an exception."""
        text = h100()
        for i in range(0, len(text), 7):
            r = read(text[:i])
            self.assertTrue(r.faults or i >= len(text) - len(END))
            r = read(text[:i] + "\n \t9#x-."[i % 8] + text[i + 1:])
            self.assertTrue(r.faults or r.rows)


unittest.main()

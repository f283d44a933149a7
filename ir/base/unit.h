/*
 * Units of quantities, 25MB, 3us, 450GB/s: one row a unit. KB, MB ... are powers of 1000, KiB, MiB
 * ... of 1024, as in the IEC standard.
 */
#ifndef IR_UNIT_H
#define IR_UNIT_H

#include <stddef.h>

/* UNIT(enumerator, text, kind, scale): a quantity of x units is x * scale bytes, seconds,
 * bytes/s or FLOP/s. */
#define IR_UNITS(UNIT)                                                                             \
	UNIT(B, "B", BYTES, 1.0)                                                                   \
	UNIT(KB, "KB", BYTES, 1e3)                                                                 \
	UNIT(MB, "MB", BYTES, 1e6)                                                                 \
	UNIT(GB, "GB", BYTES, 1e9)                                                                 \
	UNIT(TB, "TB", BYTES, 1e12)                                                                \
	UNIT(KiB, "KiB", BYTES, 1024.0)                                                            \
	UNIT(MiB, "MiB", BYTES, 1048576.0)                                                         \
	UNIT(GiB, "GiB", BYTES, 1073741824.0)                                                      \
	UNIT(TiB, "TiB", BYTES, 1099511627776.0)                                                   \
	UNIT(s, "s", SECONDS, 1.0)                                                                 \
	UNIT(ms, "ms", SECONDS, 1e-3)                                                              \
	UNIT(us, "us", SECONDS, 1e-6)                                                              \
	UNIT(ns, "ns", SECONDS, 1e-9)                                                              \
	UNIT(B_s, "B/s", RATE, 1.0)                                                                \
	UNIT(KB_s, "KB/s", RATE, 1e3)                                                              \
	UNIT(MB_s, "MB/s", RATE, 1e6)                                                              \
	UNIT(GB_s, "GB/s", RATE, 1e9)                                                              \
	UNIT(TB_s, "TB/s", RATE, 1e12)                                                             \
	UNIT(Mbit_s, "Mbit/s", RATE, 1.25e5)                                                       \
	UNIT(Gbit_s, "Gbit/s", RATE, 1.25e8)                                                       \
	UNIT(FLOP_s, "FLOP/s", FLOPS, 1.0)                                                         \
	UNIT(MFLOP_s, "MFLOP/s", FLOPS, 1e6)                                                       \
	UNIT(GFLOP_s, "GFLOP/s", FLOPS, 1e9)                                                       \
	UNIT(TFLOP_s, "TFLOP/s", FLOPS, 1e12)                                                      \
	UNIT(PFLOP_s, "PFLOP/s", FLOPS, 1e15)

enum ir_unit {
#define UNIT(name, text, kind, scale) UNIT_##name,
	IR_UNITS(UNIT)
#undef UNIT
		UNIT_COUNT
};

enum ir_unit_kind { UNIT_BYTES, UNIT_SECONDS, UNIT_RATE, UNIT_FLOPS };

/* The unit written as these n bytes, or -1. */
int ir_unit_find(const char *text, size_t n);

const char *ir_unit_text(enum ir_unit u);

/*
 * Reads a whole text as a number with a unit of that kind, "25MB", in base units; kind -1 is a
 * number without one, and bytes need none. Returns NULL if it is valid; else the first wrong byte
 * of `text`, which may be the end.
 */
const char *ir_quantity_read(const char *text, int kind, double *number);

/* In bytes, seconds, bytes a second or FLOP/s. */
double ir_unit_scale(enum ir_unit u);

enum ir_unit_kind ir_unit_kind(enum ir_unit u);

#endif

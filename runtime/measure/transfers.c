/* The link between a device and host memory: the times of a small and a large transfer in each
 * direction, alone, while all ranks do the same; latency and bandwidth that explain both.
 * Directions are measured one after the other, since a link carries both at once, and their mean is
 * used. */
#include "runtime/measure/impl.h"

enum { SMALL, LARGE, SIZES, DIRECTIONS = 2 };

void
measure_make_transfers(struct measuring *s)
{
	static const size_t bytes[SIZES] = {
		[SMALL] = MEASURE_TRANSFER_SMALL, [LARGE] = MEASURE_TRANSFER_LARGE};
	for (int i = 0; i < DIRECTIONS * SIZES; i++)
		s->transfers[i] = (struct rt_transfer){.name = "transfer",
			.to_host = i < SIZES,
			.device = s->prog.arena_bytes,
			.bytes = bytes[i % SIZES]};
	s->prog.ntransfers = DIRECTIONS * SIZES;
	s->prog.transfers = s->transfers;
	s->prog.arena_bytes += MEASURE_TRANSFER_LARGE;
	s->prog.host_bytes = MEASURE_TRANSFER_LARGE;
}

/* Nanoseconds of a transfer: the median of the slowest rank. */
static double
time_of(struct measurer *w, int transfer)
{
	const struct measure_device *d = w->s->device;
	int64_t ns[MEASURE_RUNS_MIN];
	for (int i = 0; i < MEASURE_RUNS_MIN; i++) {
		int64_t took;
		measure_meet(w);
		d->begin(w->ctx, &took, 0);
		rt_transfer_post(w->ctx, transfer);
		rt_transfer_wait(w->ctx, transfer);
		d->end(w->ctx, &took, 0);
		d->read(w->ctx, &took, 1);
		ns[i] = took - w->empty_ns;
	}
	return (double)measure_most(w, (int64_t)measure_median(ns, MEASURE_RUNS_MIN).median);
}

void
measure_transfers(struct measurer *w)
{
	const double more = MEASURE_TRANSFER_LARGE - MEASURE_TRANSFER_SMALL;
	double byte_ns = 0, latency_ns = 0;
	for (int i = 0; i < DIRECTIONS; i++) {
		measure_write_comment(w, i ? "copies from host memory" : "copies to host memory");
		const double small = time_of(w, i * SIZES + SMALL),
			     large = time_of(w, i * SIZES + LARGE),
			     slope = large > small ? (large - small) / more : 1 / more,
			     rest = small - slope * MEASURE_TRANSFER_SMALL;
		byte_ns += slope / DIRECTIONS;
		latency_ns += (rest > 0 ? rest : 0) / DIRECTIONS;
	}
	measure_write_field(w, NULL, "host_bandwidth", 1e9 / byte_ns);
	measure_write_field(w, NULL, "host_latency", latency_ns * 1e-9);
}

/* See fibers.h. The threads of a block take turns; a thread gives way where it waits. Every second
 * block runs them in reverse, so that a missing barrier shows one way or the other. A fiber is
 * entered by ucontext and left and continued by jumps, which make no system calls; it runs its
 * thread of one block after the other. */
#include "fibers.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum {
	MOST_THREADS = 1024,
	STACK_BYTES = 64 << 10, /* kernels keep scalars and small vectors */
	MOST_KERNELS = 1 << 14,
};

struct warp {
	unsigned arrived, phase;
	uint64_t slot[2][32];
};

struct fiber {
	ucontext_t context;
	jmp_buf place;
	struct shim_thread self;
	bool entered, done;
	unsigned warp_phase, block_phase;
};

struct block {
	jmp_buf home;
	struct fiber fiber[MOST_THREADS];
	struct warp warp[MOST_THREADS / 32];
	unsigned arrived, phase, size, progress;
	struct fiber *now;
	shim_kernel *kernel;
	const void *args;
	char *stacks;
};

static _Thread_local struct block *at_work;

static struct {
	const char *name;
	shim_kernel *run;
} kernels[MOST_KERNELS];
static unsigned nkernels;

void
shim_register(const char *name, shim_kernel *run)
{
	if (nkernels == MOST_KERNELS)
		abort();
	kernels[nkernels].name = name;
	kernels[nkernels++].run = run;
}

shim_kernel *
shim_find(const char *name)
{
	for (unsigned i = 0; i < nkernels; i++)
		if (!strcmp(kernels[i].name, name))
			return kernels[i].run;
	return NULL;
}

const struct shim_thread *
shim_self(void)
{
	return &at_work->now->self;
}

static void
give_way(void)
{
	struct block *b = at_work;
	if (!_setjmp(b->now->place))
		_longjmp(b->home, 1);
}

void
shim_block_barrier(void)
{
	struct block *b = at_work;
	struct fiber *f = b->now;
	f->block_phase++;
	b->progress++;
	if (++b->arrived == b->size) {
		b->arrived = 0;
		b->phase++;
	}
	while (b->phase != f->block_phase)
		give_way();
}

/* A lane is at most one exchange ahead of the others, so two sets of slots are enough. */
const uint64_t *
shim_warp_exchange(uint64_t mine)
{
	struct block *b = at_work;
	struct fiber *f = b->now;
	struct warp *w = &b->warp[f->self.thread.x / 32];
	const unsigned phase = f->warp_phase++;
	b->progress++;
	w->slot[phase & 1][f->self.thread.x & 31] = mine;
	if (++w->arrived == 32) {
		w->arrived = 0;
		w->phase++;
	}
	while (w->phase != f->warp_phase)
		give_way();
	return w->slot[phase & 1];
}

static void
start(void)
{
	for (;;) {
		struct block *b = at_work;
		b->kernel(b->args);
		b->now->done = true;
		b->progress++;
		give_way();
	}
}

/* Continues a fiber until it gives way. */
static void
turn(struct block *b, struct fiber *f)
{
	b->now = f;
	if (_setjmp(b->home))
		return;
	if (f->entered)
		_longjmp(f->place, 1);
	f->entered = true;
	setcontext(&f->context);
}

static void
make_fibers(struct block *b)
{
	for (unsigned i = 0; i < b->size; i++) {
		struct fiber *f = &b->fiber[i];
		getcontext(&f->context);
		f->context.uc_stack.ss_sp = b->stacks + (size_t)i * STACK_BYTES;
		f->context.uc_stack.ss_size = STACK_BYTES;
		f->context.uc_link = NULL;
		makecontext(&f->context, start, 0);
	}
}

static void
run_block(struct block *b, unsigned number, unsigned grid)
{
	unsigned left = b->size;
	b->arrived = b->phase = 0;
	memset(b->warp, 0, sizeof b->warp);
	for (unsigned i = 0; i < b->size; i++) {
		struct fiber *f = &b->fiber[i];
		f->self = (struct shim_thread){{i, 0, 0}, {number, 0, 0}, {grid, 1, 1}};
		f->done = false;
		f->warp_phase = f->block_phase = 0;
	}
	while (left) {
		const unsigned before = b->progress;
		for (unsigned i = 0; i < b->size; i++) {
			struct fiber *f = &b->fiber[number & 1 ? b->size - 1 - i : i];
			if (f->done)
				continue;
			turn(b, f);
			left -= f->done;
		}
		if (left && before == b->progress) {
			fprintf(stderr,
				"shim: %u threads wait at a barrier that others do not reach\n",
				left);
			abort();
		}
	}
}

void
shim_run(shim_kernel *kernel, const void *args, unsigned grid, unsigned block)
{
	struct block *b = calloc(1, sizeof *b);
	if (!b || block > MOST_THREADS || block % 32)
		abort();
	b->stacks = malloc((size_t)block * STACK_BYTES);
	b->size = block;
	b->kernel = kernel;
	b->args = args;
	at_work = b;
	make_fibers(b);
	for (unsigned i = 0; i < grid; i++)
		run_block(b, i, grid);
	free(b->stacks);
	free(b);
}

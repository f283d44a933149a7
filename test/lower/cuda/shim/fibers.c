/* See fibers.h. The threads of a block take turns; a thread yields when it waits. Every second
 * block runs them in reverse, so that a missing barrier shows in one of the two orders. A fiber is
 * entered by ucontext and left and continued by jumps, which make no system calls. It continues
 * with the next thread when one has ended, so that a kernel without barriers needs one fiber;
 * fibers and their stacks are kept for the next kernel. */
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
	struct thread *thread; /* the one that it runs */
	char *stack;           /* NULL: never entered */
};

struct thread {
	struct shim_thread self;
	struct fiber *on;
	bool done;
	unsigned warp_phase, block_phase;
	unsigned warp_barriers;
	unsigned long added;
};

struct block {
	jmp_buf home;
	struct fiber fiber[MOST_THREADS];
	struct fiber *idle[MOST_THREADS]; /* fibers without a thread: a stack of them */
	struct thread thread[MOST_THREADS];
	struct warp warp[MOST_THREADS / 32];
	unsigned arrived, phase, size, progress;
	unsigned nidle, nfibers;
	unsigned begun, left; /* threads that were begun; begun threads that have not ended */
	unsigned long added;  /* most additions of a thread of this kernel */
	bool reverse;
	uint64_t launch;
	struct fiber *now;
	shim_kernel *kernel;
	const void *args;
};

static _Thread_local struct block *at_work;

static struct shim_code kernels[MOST_KERNELS];
static unsigned nkernels;

void
shim_register(const char *name, shim_kernel *run, unsigned long bytes)
{
	if (nkernels == MOST_KERNELS)
		abort();
	kernels[nkernels++] = (struct shim_code){name, run, bytes};
}

const struct shim_code *
shim_find(const char *name)
{
	for (unsigned i = 0; i < nkernels; i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return NULL;
}

const struct shim_thread *
shim_self(void)
{
	return &at_work->now->thread->self;
}

void
shim_added(void)
{
	at_work->now->thread->added++;
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
	struct thread *t = b->now->thread;
	t->block_phase++;
	b->progress++;
	if (++b->arrived == b->size) {
		b->arrived = 0;
		b->phase++;
	}
	while (b->phase != t->block_phase)
		give_way();
}

/* A lane is at most one exchange ahead of the others, so two sets of slots are enough. */
const uint64_t *
shim_warp_exchange(uint64_t mine)
{
	struct block *b = at_work;
	struct thread *t = b->now->thread;
	struct warp *w = &b->warp[t->self.thread.x / 32];
	const unsigned phase = t->warp_phase++;
	b->progress++;
	w->slot[phase & 1][t->self.thread.x & 31] = mine;
	if (++w->arrived == 32) {
		w->arrived = 0;
		w->phase++;
	}
	while (w->phase != t->warp_phase)
		give_way();
	return w->slot[phase & 1];
}

void
shim_warp_barrier(void)
{
	shim_warp_exchange(0);
	at_work->now->thread->warp_barriers++;
}

bool
shim_now(const void *p, struct shim_moment *now, uint64_t *launch)
{
	const struct block *b = at_work;

	if (!b || !b->now)
		return false;
	const struct thread *t = b->now->thread;
	const uintptr_t stack = (uintptr_t)b->now->stack, at = (uintptr_t)p;
	*now = (struct shim_moment){
		t->self.block.x, (uint16_t)t->self.thread.x, t->block_phase, t->warp_barriers};
	*launch = b->launch;
	return at < stack || at >= stack + STACK_BYTES;
}

/* Assigns the next thread in the block's order to a fiber; false: all have begun. */
static bool
begin_thread(struct block *b, struct fiber *f)
{
	if (b->begun == b->size)
		return false;
	const unsigned i = b->begun++;
	f->thread = &b->thread[b->reverse ? b->size - 1 - i : i];
	f->thread->on = f;
	return true;
}

static void
start(void)
{
	for (;;) {
		struct block *b = at_work;
		struct fiber *f = b->now;
		b->kernel(b->args);
		f->thread->done = true;
		b->left--;
		b->progress++;
		if (begin_thread(b, f))
			continue;
		b->idle[b->nidle++] = f;
		give_way();
	}
}

/* Continues a fiber until it yields. */
static void
turn(struct block *b, struct fiber *f)
{
	b->now = f;
	if (_setjmp(b->home))
		return;
	if (f->stack)
		_longjmp(f->place, 1);
	f->stack = malloc(STACK_BYTES);
	if (!f->stack)
		abort();
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK_BYTES;
	f->context.uc_link = NULL;
	makecontext(&f->context, start, 0);
	setcontext(&f->context);
}

static struct fiber *
idle_fiber(struct block *b)
{
	return b->nidle ? b->idle[--b->nidle] : &b->fiber[b->nfibers++];
}

static void
begin_block(struct block *b, unsigned number, unsigned grid)
{
	b->arrived = b->phase = b->begun = 0;
	b->left = b->size;
	b->reverse = number & 1;
	memset(b->warp, 0, sizeof b->warp);
	for (unsigned i = 0; i < b->size; i++)
		b->thread[i] = (struct thread){
			.self = {{i, 0, 0}, {number, 0, 0}, {grid, 1, 1}},
		};
}

static void
run_block(struct block *b)
{
	while (b->begun < b->size) {
		struct fiber *f = idle_fiber(b);
		begin_thread(b, f);
		turn(b, f);
	}
	while (b->left) {
		const unsigned before = b->progress;
		for (unsigned i = 0; i < b->size; i++) {
			struct thread *t = &b->thread[b->reverse ? b->size - 1 - i : i];
			if (!t->done)
				turn(b, t->on);
		}
		if (b->left && before == b->progress) {
			fprintf(stderr,
				"shim: %u threads wait at a barrier that others do not reach\n",
				b->left);
			abort();
		}
	}
}

static void
count_added(struct block *b)
{
	for (unsigned i = 0; i < b->size; i++)
		b->added = b->thread[i].added > b->added ? b->thread[i].added : b->added;
}

const char *
shim_kernel_name(void)
{
	const char *name = "?";

	for (unsigned i = 0; i < nkernels; i++)
		name = kernels[i].run == at_work->kernel ? kernels[i].name : name;
	return name;
}

static void
write_added(const struct block *b)
{
	const char *path = getenv("SHIM_ADDED");
	FILE *f = path && b->added ? fopen(path, "a") : NULL;

	if (f) {
		fprintf(f, "%s %lu\n", shim_kernel_name(), b->added);
		fclose(f);
	}
}

/* The thread's fibers live until the program ends. */
void
shim_run(shim_kernel *kernel, const void *args, unsigned grid, unsigned block)
{
	if (!at_work)
		at_work = calloc(1, sizeof *at_work);
	struct block *b = at_work;
	if (!b || block > MOST_THREADS || block % 32)
		abort();
	b->size = block;
	b->kernel = kernel;
	b->args = args;
	b->added = 0;
	b->launch++;
	for (unsigned i = 0; i < grid; i++) {
		begin_block(b, i, grid);
		run_block(b);
		count_added(b);
	}
	b->now = NULL;
	write_added(b);
}

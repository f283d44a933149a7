/*
 * What compute-sanitizer's memcheck and racecheck find on a GPU, for kernels that are compiled with
 * -fsanitize=thread, which calls these functions before each access instead of those of a sanitizer:
 * vectors that are not aligned, and two accesses of which one is a write and neither comes first,
 * whatever values they leave. Threads of a block are ordered by barriers of the block, those of a
 * warp by __syncwarp also (shuffles order no memory), blocks of a launch by nothing.
 *
 * Of each 8 bytes the last accesses are kept, as many as fit: an older one may be missed.
 */
#include "fibers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT = 4,              /* accesses of a word: two warps' reads and a write of either */
	GROUP = 64,            /* words next to each other in the table */
	OTHER_GROUPS = 8,      /* that are tried for a word before the next words */
	FIRST_WORDS = 1 << 12, /* entries of the table of words at first */
	MOST_WORDS = 1 << 22,  /* tests' programs have fewer; beyond them nothing is remembered */
	MOST_ALLOCATIONS = 1 << 10,
};

struct access {
	struct shim_moment at;
	uint8_t mask; /* bytes of the word; 0: none */
	bool write;
};

struct word {
	uintptr_t number; /* address / 8 */
	uint64_t launch;  /* in which it was accessed; an older one is no entry */
	struct access last[KEPT];
	unsigned next; /* the one that is replaced */
};

struct table {
	struct word *word;
	size_t nwords, nused;
	uint64_t launch;
};

static _Thread_local struct table table;

struct allocation {
	uintptr_t begin, end;
};

static struct allocation allocations[MOST_ALLOCATIONS];
static int nallocations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The one in which an access was last: nearly all are in the arena. */
static _Thread_local struct allocation recent;

void
shim_has_memory(const void *begin, size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (nallocations == MOST_ALLOCATIONS)
		abort();
	allocations[nallocations++] =
		(struct allocation){(uintptr_t)begin, (uintptr_t)begin + bytes + 1};
	pthread_mutex_unlock(&lock);
}

void
shim_had_memory(const void *begin)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < nallocations; i++)
		if (allocations[i].begin == (uintptr_t)begin) {
			allocations[i] = allocations[--nallocations];
			break;
		}
	pthread_mutex_unlock(&lock);
}

static bool
is_in(const struct allocation *a, uintptr_t at)
{
	return at >= a->begin && at < a->end;
}

/* Else it is a block's own: shared memory, and never any that was freed. */
static bool
is_global(uintptr_t at)
{
	if (is_in(&recent, at))
		return true;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < nallocations; i++)
		if (is_in(&allocations[i], at))
			recent = allocations[i];
	pthread_mutex_unlock(&lock);
	return is_in(&recent, at);
}

/* Words of an aligned group follow each other, as a thread often reads the word after one. Another
 * group is tried first, so that two groups of one place do not shift each other; then the next
 * words, as a kernel may access one word of each group alone. */
static struct word *
slot_of(const struct table *t, uintptr_t number)
{
	const uintptr_t group = number / GROUP * 0x9E3779B97F4A7C15u >> 20;
	size_t i = (size_t)(group * GROUP + number % GROUP) & (t->nwords - 1);

	for (int tried = 0; t->word[i].launch == t->launch && t->word[i].number != number; tried++)
		i = (i + (tried < OTHER_GROUPS ? GROUP : 1)) & (t->nwords - 1);
	return &t->word[i];
}

static bool
grow(struct table *t)
{
	struct table to = {.nwords = t->nwords ? 2 * t->nwords : FIRST_WORDS, .launch = t->launch};

	if (to.nwords > MOST_WORDS)
		return false;
	to.word = calloc(to.nwords, sizeof *to.word);
	if (!to.word)
		abort();
	for (size_t i = 0; i < t->nwords; i++)
		if (t->word[i].launch == t->launch) {
			*slot_of(&to, t->word[i].number) = t->word[i];
			to.nused++;
		}
	free(t->word);
	*t = to;
	return true;
}

/* The entry of a word; NULL: there is no room. */
static struct word *
word_of(struct table *t, uintptr_t number, uint64_t launch)
{
	if (t->launch != launch) {
		t->launch = launch;
		t->nused = 0;
	}
	if (2 * t->nused >= t->nwords && !grow(t))
		return NULL;
	struct word *w = slot_of(t, number);
	if (w->launch != launch) {
		*w = (struct word){.number = number, .launch = launch};
		t->nused++;
	}
	return w;
}

static bool
is_before(const struct shim_moment *a, const struct shim_moment *b)
{
	if (a->block != b->block)
		return false;
	return a->thread == b->thread || a->barriers != b->barriers ||
	       (a->thread / 32 == b->thread / 32 && a->warp_barriers != b->warp_barriers);
}

static _Noreturn void
report(const struct access *a, const struct access *b, bool global, uintptr_t at)
{
	fprintf(stderr,
		"shim: kernel %s: thread %u of block %u %s %s memory at %#lx, which thread %u of block "
		"%u %s, and no barrier is between them\n",
		shim_kernel_name(), b->at.thread, b->at.block, b->write ? "writes" : "reads",
		global ? "global" : "shared", (unsigned long)at, a->at.thread, a->at.block,
		a->write ? "writes" : "reads");
	abort();
}

static void
check_word(uintptr_t number, const struct access *b, uint64_t launch, bool global)
{
	struct word *w = word_of(&table, number, launch);
	struct access *to = NULL;

	if (!w)
		return;
	for (int i = 0; i < KEPT; i++) {
		struct access *a = &w->last[i];
		if (!global && a->at.block != b->at.block)
			a->mask = 0;
		if (!a->mask) {
			to = to ? to : a;
			continue;
		}
		const bool before = is_before(&a->at, &b->at);
		if (!before && a->mask & b->mask && (a->write || b->write))
			report(a, b, global, 8 * number);
		/* who is not ordered after the new one is not ordered after the old one either */
		if (before && !(a->mask & ~b->mask) && (b->write || !a->write))
			to = a;
	}
	if (!to)
		to = &w->last[w->next++ % KEPT];
	*to = *b;
}

static void
check(void *p, unsigned bytes, bool write, bool aligned)
{
	const uintptr_t at = (uintptr_t)p;
	struct access b = {.write = write};
	uint64_t launch;

	if (!shim_now(p, &b.at, &launch))
		return;
	if (aligned && at % bytes) {
		fprintf(stderr, "shim: kernel %s: an access of %u bytes at %#lx is not aligned\n",
			shim_kernel_name(), bytes, (unsigned long)at);
		abort();
	}
	const bool global = is_global(at);
	for (uintptr_t from = at; from < at + bytes;) {
		const unsigned offset = from % 8, left = (unsigned)(at + bytes - from);
		const unsigned n = left < 8 - offset ? left : 8 - offset;
		b.mask = (uint8_t)(((1u << n) - 1) << offset);
		check_word(from / 8, &b, launch, global);
		from += n;
	}
}

#define ACCESSES(bytes)                                                                            \
	void __tsan_read##bytes(void *p)                                                           \
	{                                                                                          \
		check(p, bytes, false, true);                                                      \
	}                                                                                          \
	void __tsan_write##bytes(void *p)                                                          \
	{                                                                                          \
		check(p, bytes, true, true);                                                       \
	}                                                                                          \
	void __tsan_unaligned_read##bytes(void *p)                                                 \
	{                                                                                          \
		check(p, bytes, false, false);                                                     \
	}                                                                                          \
	void __tsan_unaligned_write##bytes(void *p)                                                \
	{                                                                                          \
		check(p, bytes, true, false);                                                      \
	}

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void
__tsan_read_range(void *p, size_t bytes)
{
	check(p, (unsigned)bytes, false, false);
}

void
__tsan_write_range(void *p, size_t bytes)
{
	check(p, (unsigned)bytes, true, false);
}

void
__tsan_init(void)
{
}

/*
 * Finds the op that a pass was working on when it crashed. Passes, and plugins even less, do not
 * record it; but code that works on an op has its address in a register or on the stack. So on a
 * crash both are searched, registers first, then the stack from the innermost function on, for the
 * first word that is the address of an op. Memory is an op if its results and its operands' uses
 * point back to it.
 *
 * The code runs in a signal handler, in a process whose memory may be corrupt. So it only calls
 * async-signal-safe functions, and dereferences nothing that might not be mapped: write(2) into a
 * pipe reads the memory, and fails where a load would crash again.
 *
 * It is disabled under sanitizers: their own reports contain more.
 */
#include "passes/tools/dopt/crash_impl.h"

#include "ir/ir.h"
#include "passes/tools/dopt/driver.h"
#include "runtime/data/shrunk.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
	/* Words of the stack to search: some hundred frames of functions that have the op. */
	WORDS_MAX = 8192,
	PAGE = 4096,
	/* Size of the handler's own stack: the crash may be a stack overflow. */
	STACK_BYTES = 64 << 10,
};

/* Signal handlers take no arguments of ours. Written once, before any pass runs. */
static struct crash_note *note;

/* Copies n <= PAGE bytes; false: some are not mapped. */
static bool
copy(void *to, const void *from, size_t n)
{
	return write(note->probe[1], from, n) == (ssize_t)n &&
	       read(note->probe[0], to, n) == (ssize_t)n;
}

static void
copy_text(char *to, const char *from)
{
	for (size_t i = 0; i + 1 < CRASH_TEXT && copy(&to[i], from + i, 1) && to[i]; i++)
		to[i + 1] = 0;
}

/* Is the memory at `p` a consistent op? */
static bool
is_op(const struct ir_op *p, struct ir_op *op)
{
	struct ir_value result;
	struct ir_use operand;

	if ((uintptr_t)p < PAGE || (uintptr_t)p % _Alignof(struct ir_op) ||
		!copy(op, p, sizeof *op))
		return false;
	if (op->code >= OP_NCODES || op->nresults + op->noperands == 0)
		return false;
	if (op->nresults && (!copy(&result, p->result, sizeof result) || result.op != p))
		return false;
	return !op->noperands || (copy(&operand, op->operand, sizeof operand) && operand.op == p);
}

/* Describes the op at p. */
static void
describe(const struct ir_op *op, const struct ir_op *p)
{
	const char *file;
	struct ir_value result;

	copy_text(note->op, op_name((enum op_code)op->code));
	if (op->nresults && copy(&result, p->result, sizeof result) && result.name)
		copy_text(note->value, result.name);
	/* Allocates no memory. */
	if (note->diag && diag_place(note->diag, op->loc, &file, &note->line, &note->column))
		copy_text(note->file, file);
}

/* Searches mapped words. */
static bool
search(const uintptr_t *word, size_t n)
{
	struct ir_op op;

	for (size_t i = 0; i < n; i++)
		if (is_op((const struct ir_op *)word[i], &op)) {
			describe(&op, (const struct ir_op *)word[i]);
			return true;
		}
	return false;
}

static uintptr_t
stack_pointer(const ucontext_t *u)
{
#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return (uintptr_t)u->uc_mcontext.sp;
#else
	(void)u;
	return 0;
#endif
}

static void
search_stack(uintptr_t at)
{
	static const size_t words = PAGE / sizeof(uintptr_t);
	uintptr_t word[PAGE / sizeof(uintptr_t)];

	at -= at % sizeof(uintptr_t);
	for (size_t seen = 0; at && seen < WORDS_MAX; seen += words) {
		const size_t n = (PAGE - at % PAGE) / sizeof(uintptr_t);
		if (!copy(word, (const void *)at, n * sizeof *word) || search(word, n))
			return;
		at += n * sizeof *word;
	}
}

/* Handlers of fatal signals are reset when they run: raised again, the signal ends the process. */
static void
on_crash(int number, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	/* The data file of -run or -check was truncated: not our bug, and reported already. */
	if (number == SIGBUS && rt_shrunk_report(info->si_addr)) {
		note->done = true;
		_exit(DRIVER_INPUT);
	}
	if (!search((const uintptr_t *)&u->uc_mcontext, sizeof u->uc_mcontext / sizeof(uintptr_t)))
		search_stack(stack_pointer(u));
	raise(number);
}

void
crash_watch_ops(struct crash_note *n)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction a = {
		.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
	/* After deep recursion the normal stack has no room. */
	stack_t stack = {.ss_size = STACK_BYTES};

	if (SANITIZED || pipe2(n->probe, O_CLOEXEC | O_NONBLOCK))
		return;
	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
		return;
	note = n;
	sigemptyset(&a.sa_mask);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &a, NULL);
}

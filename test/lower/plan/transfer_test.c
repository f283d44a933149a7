/* Plans with copies to host memory and back: sound as planned, refused once a wait is removed, a
 * copy is posted too early, or bytes are reused while a copy reads or writes them. */
#include "test/lower/plan/fixture.h"

/* Values on their way out and back, a state that stays there, bytes that are reused. */
static const char step[] =
	"module @t\nmesh [dp = 2]\nfunc @main() {\n%x = input(\"x\") : f32[8/dp,4]\n"
	"%m = state(\"m\") : f32[4,4]@host\n%a = exp(%x)\n%h = offload(%a)\n%b = neg(%a)\n"
	"%i, %c = barrier(%h, %b)\n%d = tanh(%c)\n%e = reload(%i)\n%f = mul(%d, %e)\n"
	"%g = contract(%x, %f) {spec = \"bi,bj->ij\"}\n%G = allreduce(%g) {axis = dp}\n"
	"%r = reload(%m)\n%n = add(%r, %G)\n%o = offload(%n)\nupdate(%m, %o)\n%s = sum(%n)\n"
	"output(\"s\", %s)\n}\n";

/* The same in loops: each micro-batch has its slot in host memory. */
static const char loops[] =
	"module @t\nsteps [mb = 2]\nfunc @main() {\n%x = input(\"x\") : f32[8/mb,4]\n%e = exp(%x)\n"
	"%h = offload(%e)\n%s = sum(%e) {dims = [0]}\n%r = reduce(%s) {axis = mb}\n"
	"%R = replicate(%r) {axis = mb}\n%i, %Q = barrier(%h, %R)\n%b = reload(%i)\n"
	"%c = mul(%b, %Q)\n%d = sum(%c) {dims = [0]}\n%D = reduce(%d) {axis = mb}\n"
	"output(\"D\", %D)\n}\n";

static const char *const programs[] = {step, loops};
enum { NPROGRAMS = sizeof programs / sizeof *programs };

static bool
is_transfer(const struct lower_plan *p, int i, enum lower_action_kind kind)
{
	return p->action[i].kind == kind && p->coll[p->action[i].coll].transfer;
}

static int
find(const struct lower_plan *p, enum lower_action_kind kind, const char *result)
{
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == kind && p->action[i].op &&
			strcmp(p->action[i].op->result[0].name, result) == 0)
			return i;
	fail_msg("the plan has no such action");
	return -1;
}

/* Removes action i and inserts it before action k of the others, at the right moment. */
static void
move(struct lower_plan *p, int i, int k)
{
	const struct lower_action a = p->action[i];
	memmove(&p->action[i], &p->action[i + 1],
		sizeof *p->action * (size_t)(p->nactions - i - 1));
	memmove(&p->action[k + 1], &p->action[k],
		sizeof *p->action * (size_t)(p->nactions - k - 1));
	p->action[k] = a;
}

static void
drop(struct lower_plan *p, int i)
{
	move(p, i, p->nactions - 1);
	p->nactions--;
}

static struct storage_buffer *
buffer_of(struct lower_plan *p, const char *name)
{
	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffer[i].value && p->buffer[i].value->name &&
			strcmp(p->buffer[i].value->name, name) == 0)
			return &p->buffer[i];
	fail_msg("no buffer %s", name);
	return NULL;
}

static void
refused(struct fixture *x, const char *why)
{
	const bool sound = lower_check(x->plan);
	if (sound || !strstr(x->messages, why))
		fail_msg("%s: expected '%s', found\n%s", sound ? "sound" : "refused", why,
			x->messages);
	talloc_free(x);
}

/* Each wait is before a reader of the result, before a writer of the operand, or at an end. */
static void
every_wait_is_needed(void **state)
{
	(void)state;
	int waits = 0;
	for (int k = 0; k < NPROGRAMS; k++)
		for (int n = 0;; n++) {
			struct fixture *x = fixture_of(programs[k]);
			int i = 0, left = n;
			while (i < x->plan->nactions &&
				!(is_transfer(x->plan, i, LOWER_WAIT) && left-- == 0))
				i++;
			if (i == x->plan->nactions) {
				talloc_free(x);
				break;
			}
			drop(x->plan, i);
			if (lower_check(x->plan))
				fail_msg("without its wait %d the plan passes", n);
			waits++;
			talloc_free(x);
		}
	assert_int_equal(waits, 6);
}

static void
a_copy_back_that_is_read_before_its_end(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	drop(x->plan, find(x->plan, LOWER_WAIT, "e"));
	refused(x, "while a posted reload uses %e");
}

static void
a_copy_that_reads_what_is_not_there_yet(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	move(x->plan, find(x->plan, LOWER_POST, "h"), find(x->plan, LOWER_KERNEL, "a"));
	refused(x, "(%a), which was never written");
}

/* The end of the copy to the host is what the copy back waits for. */
static void
a_copy_back_of_what_is_on_its_way(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(loops);
	drop(x->plan, find(x->plan, LOWER_WAIT, "h"));
	refused(x, "while a posted offload uses %h");
}

/* A kernel writes into the bytes of %a, as if its live range ended when the copy is posted. */
static void
bytes_that_a_copy_still_reads(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct lower_plan *p = x->plan;
	struct storage_buffer *a = buffer_of(p, "a"), *b = buffer_of(p, "b");
	a->last = b->first;
	b->offset = a->offset;
	refused(x, "%a");
}

static void
two_buffers_of_host_memory_in_one_place(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	buffer_of(x->plan, "h")->offset = buffer_of(x->plan, "m")->offset;
	refused(x, "share bytes while both are live");
}

static void
beyond_host_memory(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	x->plan->host_bytes = 64;
	refused(x, "outside the arena or not aligned");
}

/* Offsets in the two memories are independent. */
static void
equal_offsets_in_two_memories(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	assert_int_equal(buffer_of(x->plan, "x")->offset, buffer_of(x->plan, "m")->offset);
	assert_true(lower_check(x->plan));
	talloc_free(x);
}

static void
a_copy_in_the_other_direction(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct lower_plan *p = x->plan;
	struct lower_coll_buf *h = &p->coll[p->action[find(p, LOWER_POST, "h")].coll].buf[0];
	const struct lower_coll_buf was = *h;
	h->src = was.dst;
	h->dst = was.src;
	refused(x, "is not copied to the other memory");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_wait_is_needed),
		cmocka_unit_test(a_copy_back_that_is_read_before_its_end),
		cmocka_unit_test(a_copy_that_reads_what_is_not_there_yet),
		cmocka_unit_test(a_copy_back_of_what_is_on_its_way),
		cmocka_unit_test(bytes_that_a_copy_still_reads),
		cmocka_unit_test(two_buffers_of_host_memory_in_one_place),
		cmocka_unit_test(beyond_host_memory),
		cmocka_unit_test(equal_offsets_in_two_memories),
		cmocka_unit_test(a_copy_in_the_other_direction),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

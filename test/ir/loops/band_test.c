/*
 * Which part of a matrix product counts, and that programs which leave out the rest compute what
 * the interpreter does. Sizes are no multiples of the blocks; each mask has a case in which what is
 * read makes the band wrong, and nothing may be left out.
 */
#include "test/lower/program.h"

#include "ir/loops/scheme.h"

struct band_case {
	const char *what, *body;
	const char *product; /* the value; NULL: there is nothing to look at */
	enum rt_gemm_matrix of;
	int64_t low, high;
	int ntests;
};

#define FAR BAND_FAR

/* Rows t of q and s of k, values v. */
#define QKV                                                                                        \
	"%q = input(\"q\") : f32[3,150,8]\n%k = input(\"k\") : f32[3,170,8]\n"                     \
	"%v = input(\"v\") : f32[3,170,4]\n%row = iota() {dim = 0} : i32[150,170]\n"               \
	"%col = iota() {dim = 1} : i32[150,170]\n%z = constant() {value = 0} : f32[]\n"            \
	"%low = constant() {value = -1e30} : f32[]\n"
#define DOTS "%dots = contract(%q, %k) {spec = \"btd,bsd->bts\"}\n"
#define CAUSAL "%seen = le(%col, %row)\n"
#define MASKED "%masked = select(%seen, %dots, %low)\n"
#define SOFTMAX                                                                                    \
	"%top = max(%masked) {dims = [2], keep = true}\n%d = sub(%masked, %top)\n%e = exp(%d)\n"   \
	"%sum = sum(%e) {dims = [2], keep = true}\n%p = div(%e, %sum)\n"
#define MIX "%mixed = contract(%p, %v) {spec = \"bts,bsd->btd\"}\n"
#define OUT(x) "output(\"" x "\", %" x ")\n"
#define SMALL                                                                                      \
	"%y = input(\"y\") : f32[150,150]\n%w = input(\"w\") : f32[150,9]\n"                       \
	"%i = iota() {dim = 0} : i32[150,150]\n%j = iota() {dim = 1} : i32[150,150]\n"             \
	"%z = constant() {value = 0} : f32[]\n"

/* A product of which a block of rows exists at a time: all of it is larger than a cache. */
#define WIDE                                                                                              \
	"%y = input(\"y\") : f32[200,8]\n%w = input(\"w\") : f32[8,2100]\n%z = constant() {value = 0} : " \
	"f32[]\n%i = iota() {dim = 0} : i32[200,2100]\n%j = iota() {dim = 1} : i32[200,2100]\n%n = "      \
	"constant() {value = 1000} : i32[]\n%last = add(%i, %n)\n"

static const struct band_case cases[] = {
	{"dots that a mask reads", QKV DOTS CAUSAL MASKED SOFTMAX OUT("p"), "dots", RT_GEMM_C, -FAR,
		0, 0},
	{"a softmax of what is masked, which a program tests",
		QKV DOTS CAUSAL MASKED SOFTMAX MIX OUT("mixed"), "mixed", RT_GEMM_A, -FAR, 0, 1},
	{"the same if the mask's value is not low enough",
		QKV DOTS CAUSAL "%near = constant() {value = -1} : f32[]\n"
				"%masked = select(%seen, %dots, %near)\n" SOFTMAX MIX OUT("mixed"),
		"mixed", RT_GEMM_A, -FAR, 0, 1},
	{"no row sees anything",
		QKV DOTS
		"%never = constant() {value = -1000} : i32[]\n"
		"%last = add(%row, %never)\n%seen = le(%col, %last)\n" MASKED SOFTMAX MIX OUT(
			"mixed"),
		"dots", RT_GEMM_C, -FAR, -1000, 0},
	{"some more are seen",
		QKV DOTS
		"%more = constant() {value = 20} : i32[]\n"
		"%last = add(%row, %more)\n%seen = ge(%last, %col)\n" MASKED SOFTMAX MIX OUT(
			"mixed"),
		"mixed", RT_GEMM_A, -FAR, 20, 1},
	{"what is ahead is said",
		QKV DOTS "%ahead = gt(%col, %row)\n"
			 "%masked = select(%ahead, %low, %dots)\n" SOFTMAX MIX OUT("mixed"),
		"dots", RT_GEMM_C, -FAR, 0, 0},
	{"what is ahead, negated",
		QKV DOTS
		"%ahead = lt(%row, %col)\n%seen = not(%ahead)\n" MASKED SOFTMAX MIX OUT("mixed"),
		"mixed", RT_GEMM_A, -FAR, 0, 1},
	{"a window",
		QKV DOTS "%near = constant() {value = 40} : i32[]\n%first = sub(%row, %near)\n"
			 "%a = le(%col, %row)\n%b = gt(%col, %first)\n%seen = and(%a, "
			 "%b)\n" MASKED SOFTMAX MIX OUT("mixed"),
		"mixed", RT_GEMM_A, -39, 0, 1},
	{"dots of a window",
		QKV DOTS
		"%near = constant() {value = 40} : i32[]\n%first = sub(%row, %near)\n"
		"%a = le(%col, %row)\n%b = gt(%col, %first)\n%seen = and(%a, %b)\n" MASKED OUT(
			"masked"),
		"dots", RT_GEMM_C, -39, 0, 0},
	{"an output of its own is read everywhere",
		QKV DOTS CAUSAL MASKED OUT("masked") OUT("dots"), "dots", RT_GEMM_NONE, 0, 0, 0},
	{"a sum reads everything",
		QKV DOTS CAUSAL MASKED "%all = sum(%dots) {dims = [2]}\n" OUT("masked") OUT("all"),
		"dots", RT_GEMM_NONE, 0, 0, 0},
	{"both arms are read",
		QKV DOTS CAUSAL "%twice = add(%dots, %dots)\n"
				"%masked = select(%seen, %dots, %twice)\n" OUT("masked"),
		"dots", RT_GEMM_NONE, 0, 0, 0},
	{"a mask that data give",
		QKV DOTS
		"%m = input(\"m\") {range = 2} : i32[150,170]\n%one = constant() {value = 1} : "
		"i32[]\n%seen = eq(%m, %one)\n" MASKED OUT("masked"),
		"dots", RT_GEMM_NONE, 0, 0, 0},
	{"a mask of one side only",
		QKV DOTS
		"%half = constant() {value = 75} : i32[]\n%seen = lt(%col, %half)\n" MASKED OUT(
			"masked"),
		"dots", RT_GEMM_NONE, 0, 0, 0},
	{"positions that wrap",
		QKV DOTS "%far = constant() {value = 2147483600} : i32[]\n"
			 "%last = add(%row, %far)\n%seen = le(%col, %last)\n" MASKED OUT("masked"),
		"dots", RT_GEMM_NONE, 0, 0, 0},
	{"positions that count twice",
		QKV DOTS "%two = add(%row, %row)\n%seen = le(%col, %two)\n" MASKED OUT("masked"),
		"dots", RT_GEMM_NONE, 0, 0, 0},
	{"a triangle",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "%r = matmul(%t, %w)\n" OUT("r"),
		"r", RT_GEMM_A, -FAR, 0, 0},
	{"the other triangle",
		SMALL "%low = ge(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "%r = matmul(%t, %w)\n" OUT("r"),
		"r", RT_GEMM_A, 0, FAR, 0},
	{"a triangle transposed",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "%u = transpose(%t)\n%r = matmul(%u, %w)\n" OUT("r"),
		"r", RT_GEMM_A, 0, FAR, 0},
	{"a triangle read across",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "%r = contract(%t, %w) {spec = \"ki,kj->ij\"}\n" OUT("r"),
		"r", RT_GEMM_A, 0, FAR, 0},
	{"a triangle on the right",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "%r = contract(%w, %t) {spec = \"ki,kj->ij\"}\n" OUT("r"),
		"r", RT_GEMM_B, -FAR, 0, 0},
	{"a triangle of ones",
		SMALL "%low = le(%j, %i)\n%f = convert(%low) {to = f32}\n"
		      "%t = mul(%y, %f)\n%r = matmul(%t, %w)\n" OUT("r"),
		"r", RT_GEMM_A, -FAR, 0, 0},
	{"a diagonal's band is empty of most",
		SMALL "%a = le(%j, %i)\n%b = ge(%j, %i)\n%c = and(%a, %b)\n%t = select(%c, %y, "
		      "%z)\n%r = matmul(%t, %w)\n" OUT("r"),
		"r", RT_GEMM_A, 0, 0, 0},
	{"a triangle plus what is everywhere",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "%u = add(%t, %y)\n%r = matmul(%u, %w)\n" OUT("r"),
		"r", RT_GEMM_NONE, 0, 0, 0},
	{"a cosine of 0 is no 0",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n%u = cos(%t)\n"
		      "%r = matmul(%u, %w)\n" OUT("r"),
		"r", RT_GEMM_A, -FAR, 0, 1},
	{"of 64 bits",
		"%y = input(\"y\") : f64[150,150]\n%w = input(\"w\") : f64[150,9]\n"
		"%i = iota() {dim = 0} : i64[150,150]\n%j = iota() {dim = 1} : i64[150,150]\n"
		"%z = constant() {value = 0} : f64[]\n%low = le(%j, %i)\n"
		"%t = select(%low, %y, %z)\n%r = matmul(%t, %w)\n%s = matmul(%y, %t)\n"
		"%c = select(%low, %s, %z)\n" OUT("r") OUT("c"),
		"s", RT_GEMM_B, -FAR, 0, 0},
	{"a result that only a product with 0 reads",
		SMALL "%low = le(%j, %i)\n%t = select(%low, %y, %z)\n%s = matmul(%y, %y)\n"
		      "%u = neg(%s)\n%x = mul(%u, %t)\n%r = sum(%x) {dims = [1]}\n" OUT("r"),
		"s", RT_GEMM_C, -FAR, 0, 0},
	{"sums of two loops around a product",
		"%y = input(\"y\") : f32[3,150,5,150]\n%w = input(\"w\") : f32[3,150,5,9]\n"
		"%i = iota() {dim = 0} : i32[150,5,150]\n%j = iota() {dim = 2} : i32[150,5,150]\n"
		"%z = constant() {value = 0} : f32[]\n%low = le(%j, %i)\n"
		"%t = select(%low, %y, %z)\n%r = contract(%t, %w) {spec = \"bmck,bkcn->mn\"}\n" OUT(
			"r"),
		"r", RT_GEMM_A, -FAR, 0, 0},
	{"a band through a reshape",
		"%y = input(\"y\") : f32[2,3,150,150]\n%w = input(\"w\") : f32[6,150,9]\n"
		"%i = iota() {dim = 0} : i32[150,150]\n%j = iota() {dim = 1} : i32[150,150]\n"
		"%z = constant() {value = 0} : f32[]\n%low = le(%j, %i)\n%t = select(%low, %y, "
		"%z)\n%u = reshape(%t) {shape = [6,150,150]}\n%r = contract(%u, %w) {spec = "
		"\"bij,bjn->bin\"}\n" OUT("r"),
		"r", RT_GEMM_A, -FAR, 0, 0},
	{"a reshape that moves the rows",
		SMALL
		"%low = le(%j, %i)\n%t = select(%low, %y, %z)\n%u = reshape(%t) {shape = "
		"[225,100]}\n%x = input(\"x\") : f32[100,130]\n%r = matmul(%u, %x)\n" OUT("r"),
		"r", RT_GEMM_NONE, 0, 0, 0},
	{"too small to be divided",
		"%y = input(\"y\") : f32[100,100]\n%i = iota() {dim = 0} : i32[100,100]\n%j = "
		"iota() {dim = 1} : i32[100,100]\n%z = constant() {value = 0} : f32[]\n%low = "
		"le(%j, %i)\n%t = select(%low, %y, %z)\n%r = matmul(%t, %y)\n" OUT("r"),
		"r", RT_GEMM_NONE, 0, 0, 0},
	{"blocks of rows",
		WIDE "%low = le(%j, %last)\n%r = fuse(%y, %w, %low, %z) {\n%s = matmul(%y, "
		     "%w)\n%t = select(%low, %s, %z)\nyield(%t)\n}\n" OUT("r"),
		"s", RT_GEMM_C, -FAR, 1000, 0},
	{"blocks of rows, tested",
		WIDE
		"%low = ge(%j, %last)\n%x = input(\"x\") : f32[200,2100]\n%never = constant() "
		"{value = -1e30} : f32[]\n%m = select(%low, %x, %never)\n%e = exp(%m)\n%r = "
		"fuse(%y, %w, %e) {\n%s = matmul(%y, %w)\n%t = mul(%s, %e)\n%u = sum(%t) {dims = "
		"[1]}\nyield(%u)\n}\n" OUT("r"),
		"s", RT_GEMM_C, 1000, FAR, 1},
	{"blocks of rows of a triangle",
		WIDE "%x = input(\"x\") : f32[200,150]\n%v = input(\"v\") : f32[150,2100]\n"
		     "%a = iota() {dim = 0} : i32[200,150]\n%b = iota() {dim = 1} : i32[200,150]\n"
		     "%low = le(%b, %a)\n%t = select(%low, %x, %z)\n%r = fuse(%t, %v) {\n%s = "
		     "matmul(%t, %v)\n%u = relu(%s)\nyield(%u)\n}\n" OUT("r"),
		"s", RT_GEMM_A, -FAR, 0, 0},
	{"gradients of attention, fused",
		QKV DOTS CAUSAL MASKED SOFTMAX
		"%g = input(\"g\") : f32[3,150,4]\n"
		"%dv = contract(%p, %g) {spec = \"bts,btd->bsd\"}\n"
		"%dd = fuse(%g, %v, %e, %sum, %seen, %z) {\n"
		"%dp = contract(%g, %v) {spec = \"btd,bsd->bts\"}\n%q = div(%e, %sum)\n"
		"%a = mul(%dp, %q)\n%n = sum(%a) {dims = [2], keep = true}\n%b = sub(%dp, %n)\n"
		"%c = mul(%b, %q)\n%o = select(%seen, %c, %z)\nyield(%o)\n}\n"
		"%dq = contract(%dd, %k) {spec = \"bts,bsd->btd\"}\n"
		"%dk = contract(%dd, %q) {spec = \"bts,btd->bsd\"}\n" OUT("dv") OUT("dq") OUT("dk"),
		"dp", RT_GEMM_C, -FAR, 0, 1},
	{"the product of a gradient that is 0 ahead",
		SMALL "%g = fuse(%y, %i, %j, %z) {\n%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		      "yield(%t)\n}\n%r = contract(%g, %w) {spec = \"ts,td->sd\"}\n" OUT("r"),
		"r", RT_GEMM_A, 0, FAR, 0},
	{"a product that a kernel puts out",
		QKV CAUSAL "%x, %y = fuse(%q, %k, %seen, %low) {\n%dots = contract(%q, %k) {spec = "
			   "\"btd,bsd->bts\"}\n%masked = select(%seen, %dots, %low)\nyield(%dots, "
			   "%masked)\n}\n%masked = select(%seen, %x, %low)\n" OUT("masked")
				   OUT("y"),
		"dots", RT_GEMM_C, -FAR, 0, 0},
	{"rows that devices share",
		"%y = input(\"y\") : f32[300/dp,300]\n%w = input(\"w\") : f32[300,9]\n"
		"%i = iota() {dim = 0} : i32[300/dp,300]\n%j = iota() {dim = 1} : "
		"i32[300/dp,300]\n%z = constant() {value = 0} : f32[]\n%low = "
		"le(%j, %i)\n%t = select(%low, %y, %z)\n%r = matmul(%t, %w)\n" OUT("r"),
		"r", RT_GEMM_NONE, 0, 0, 0},
	{"matrices that devices share",
		"%y = input(\"y\") : f32[4/dp,150,150]\n%w = input(\"w\") : "
		"f32[4/dp,150,9]\n%i = iota() {dim = 1} : i32[4/dp,150,150]\n%j = "
		"iota() {dim = 2} : i32[4/dp,150,150]\n%z = constant() {value "
		"= 0} : f32[]\n%low = le(%j, %i)\n%t = select(%low, %y, %z)\n"
		"%r = contract(%t, %w) {spec = \"bij,bjn->bin\"}\n" OUT("r"),
		"r", RT_GEMM_A, -FAR, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *const types[] = {"f32", "f64", "f16", "bf16"};
enum { TYPES = sizeof types / sizeof *types };

static char *
text_of(const void *owner, const struct band_case *c)
{
	return talloc_asprintf(owner, "module @t\n%sfunc @main() {\n%s}\n",
		strstr(c->body, "/dp") ? "mesh [dp = 2]\n" : "", c->body);
}

/* The same with another type in place of f32. */
static char *
text_with(const void *owner, const struct band_case *c, const char *type)
{
	char *text = talloc_strdup(owner, "");

	for (const char *p = text_of(owner, c), *at; p; p = at ? at + strlen("f32") : NULL) {
		at = strstr(p, "f32");
		text = talloc_strndup_append_buffer(text, p, at ? (size_t)(at - p) : strlen(p));
		text = talloc_strdup_append_buffer(text, at ? type : "");
	}
	return text;
}

/* The product whose result has that name, and its op; NULL: there is none. */
static const struct scheme_gemm *
find_product(const struct lower_plan *p, const char *name, const struct ir_op **of)
{
	for (int i = 0; i < p->nactions; i++) {
		const struct scheme *s = p->action[i].scheme;
		for (int g = 0; s && g < s->nsegments; g++) {
			const struct scheme_segment *x = &s->segment[g];
			const struct ir_op *op = x->nops ? s->op[x->op[0]].op : NULL;
			if (x->kind == SCHEME_GEMM && op->result[0].name &&
				strcmp(op->result[0].name, name) == 0) {
				*of = op;
				return &x->gemm;
			}
		}
	}
	return NULL;
}

/* The product that a case is about, in a plan that lower_check accepts. */
struct lowered {
	const struct ir_module *m;
	struct lower_plan *plan;
	const struct ir_op *op;
	const struct scheme_gemm *gemm;
};

static struct lowered
lower_case(struct batch *b, const struct band_case *c, const char *type)
{
	struct lowered x = {.m = module_of(b, c->what, text_with(b, c, type))};

	x.plan = lower_plan_create(b, x.m);
	assert_true(x.plan && lower_check(x.plan));
	x.gemm = find_product(x.plan, c->product, &x.op);
	if (!x.gemm)
		fail_msg("%s: there is no product %s", c->what, c->product);
	return x;
}

static void
products_have_the_bands_of_their_masks(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	for (size_t i = 0; i < TYPES * CASES; i++) {
		const struct band_case *c = &cases[i / TYPES];
		const struct scheme_gemm *g = lower_case(b, c, types[i % TYPES]).gemm;
		if (g->band.of != c->of || g->ntests != c->ntests ||
			(c->of && (g->band.low != c->low || g->band.high != c->high)))
			fail_msg("%s: the band is of matrix %d, %lld to %lld, %d tests", c->what,
				(int)g->band.of, (long long)g->band.low, (long long)g->band.high,
				g->ntests);
	}
	assert_int_equal(rmdir(b->folder), 0);
	talloc_free(b);
}

static void
programs_with_bands_are_as_interpreted(void **state)
{
	(void)state;
	const bool all = getenv("DOPT_TEST_LONG") != NULL;
	struct batch *b = batch_create();
	for (size_t i = 0; i < TYPES * CASES; i++) {
		const size_t c = i / TYPES, type = i % TYPES;
		/* each type has its own function for bands, and a case is the same to all of them */
		if (all || !type || type == 1 + c % (TYPES - 1))
			batch_add(b, cases[c].what, text_with(b, &cases[c], types[type]));
	}
	batch_check(b, "-O2");
}

/* The cost model counts the same: a program that finds zeros does less, others all. */
static void
a_share_of_the_work_is_counted(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	for (size_t i = 0; i < CASES; i++) {
		const struct band_case *c = &cases[i];
		const struct lowered x = lower_case(b, c, "f32");
		const struct scheme_gemm *g = x.gemm;
		const double share = band_share(x.plan->bands, x.op);
		const double all = (double)g->m * (double)g->n * (double)g->k;
		const double part =
			g->band.of ? rt_gemm_band_points(&g->band, g->m, g->n, g->k) : all;
		if (fabs(share - part / all) > 0.02)
			fail_msg("%s: a share of %g; the program does %g", c->what, share,
				part / all);
	}
	assert_int_equal(rmdir(b->folder), 0);
	talloc_free(b);
}

/* What is computed is a superset of the band, and of blocks that are left out nothing is. */
static void
blocks_hold_the_band(void **state)
{
	(void)state;
	static const int64_t limits[][2] = {
		{-FAR, 0}, {0, FAR}, {-39, 0}, {-FAR, 20}, {-FAR, -1000}, {7, 7}, {5, -5}};
	for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
		for (int of = RT_GEMM_A; of <= RT_GEMM_C; of++) {
			const struct rt_gemm_band b = {
				(enum rt_gemm_matrix)of, limits[l][0], limits[l][1]};
			const int64_t rows = 150, size = 170;
			double points = 0;
			for (int64_t i = 0; i < rows; i += RT_GEMM_BAND_ROWS) {
				const int64_t to =
					i + RT_GEMM_BAND_ROWS < rows ? i + RT_GEMM_BAND_ROWS : rows;
				int64_t first, end;
				rt_gemm_band_range(&b, i, to, size, &first, &end);
				assert_true(0 <= first && first <= end && end <= size);
				points += (double)((to - i) * (end - first));
				for (int64_t r = i; r < to; r++)
					for (int64_t c = 0; c < size; c++) {
						/* of B the blocks are of columns */
						const int64_t at = of == RT_GEMM_B ? r - c : c - r;
						const bool inside = b.low <= at && at <= b.high;
						assert_true(!inside || (first <= c && c < end));
					}
			}
			const double m = of == RT_GEMM_B ? 3 : (double)rows,
				     n = of == RT_GEMM_B   ? (double)rows
					 : of == RT_GEMM_C ? (double)size
							   : 3,
				     k = of == RT_GEMM_C ? 3 : (double)size;
			assert_true(rt_gemm_band_points(&b, (int64_t)m, (int64_t)n, (int64_t)k) ==
				    3 * points);
		}
}

/* One element of a line tells of all: whichever line is not 0 outside of the band is found. */
static void
tests_look_at_each_line(void **state)
{
	(void)state;
	float x[2 * 7 * 9];
	for (int along = 0; along < 2; along++)
		for (int64_t row = 0; row < 14; row++)
			for (int64_t col = 0; col < 9; col++) {
				/* a line that is 1 outside of the band, and 1 inside of all lines */
				bool any = false;
				for (int64_t i = 0; i < 14 * 9; i++) {
					const int64_t r = i / 9, c = i % 9, at = c - r % 7;
					const bool inside = -2 <= at && at <= 1;
					const bool line =
						along ? c == col && r / 7 == row / 7 : r == row;
					x[i] = inside || line;
					any |= !inside && line;
				}
				assert_int_equal(!any,
					rt_is_zero_outside_f32(x, 2, 7, 9, -2, 1, along == 1));
			}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_have_the_bands_of_their_masks),
		cmocka_unit_test(programs_with_bands_are_as_interpreted),
		cmocka_unit_test(a_share_of_the_work_is_counted),
		cmocka_unit_test(blocks_hold_the_band),
		cmocka_unit_test(tests_look_at_each_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random programs: pipelines. See check.h. */
#include "ir/interp.h"
#include "passes/pipeline.h"
#include "runtime/rng.h"
#include "test/random/check.h"

#include <string.h>
#include <talloc.h>

enum {
	MOST_PASSES = 4,  /* of a pipeline: their pairs meet soon enough */
	EVALUATIONS = 40, /* of a search: what makes it right, not what makes it good */
};

bool
trial_apply(struct trial *t, struct ir_module **m, const char *text)
{
	struct pass_manager *manager = pass_manager_create(t, t->ctx);
	struct pass_pipeline *p = pass_pipeline_create(t);
	manager->verify_each = true;
	manager->evaluations = EVALUATIONS;
	if (!pass_pipeline_parse(p, manager, "pipeline", text) ||
		!pass_pipeline_check(p, manager, *m)) {
		*m = NULL;
		return true;
	}
	const enum pass_status status = pass_pipeline_run(p, manager, m, NULL);
	if (status == PASS_FAILED)
		*m = NULL;
	return status != PASS_BUG;
}

static int
draw(uint64_t *random, int n)
{
	return (int)(rt_mix64(++*random) % (uint64_t)n);
}

/* A value for the option, or NULL. Numbers that are no sizes keep their defaults: a large learning
 * rate is no test. */
static const char *
option_value(const void *owner, const struct pass_option *o, uint64_t *random)
{
	static const char *const sizes[] = {"1", "64", "1KB", "1GB"};
	switch (o->type) {
	case PASS_AXIS:
	case PASS_AXES: return "dp";
	case PASS_BOOL: return *random && draw(random, 2) ? "true" : "false";
	case PASS_SIZE: return sizes[*random ? draw(random, 4) : 3];
	case PASS_ENUM: break;
	default: return NULL;
	}
	char *list = talloc_strdup(owner, o->choices), *rest = NULL;
	const char *chosen = strtok_r(list, ",", &rest);
	for (const char *word = chosen; word && *random; word = strtok_r(NULL, ",", &rest))
		if (draw(random, 2))
			chosen = word;
	return chosen;
}

const char *
trial_pass_text(const void *owner, const struct pass *p, uint64_t *random)
{
	char *text = talloc_strdup(owner, p->name);
	int n = 0;
	for (const struct pass_option *o = p->options; o && o->name; o++) {
		if (o->fallback && (!*random || draw(random, 2)))
			continue;
		const char *value = option_value(owner, o, random);
		if (value)
			text = talloc_asprintf_append(
				text, "%s%s=%s", n++ ? "," : "{", o->name, value);
		else if (!o->fallback)
			return NULL;
	}
	return n ? talloc_strdup_append(text, "}") : text;
}

/* Runs one pass on *m, which stays where the pass refuses it, and checks what it did. */
static bool
checked_pass(struct trial *t, struct ir_module **m, const char *pass, const char **text)
{
	struct ir_module *after = ir_module_clone(t, *m);
	char *said = talloc_strdup(t, t->text);
	const char *with = talloc_asprintf(t, "%s%s%s", *text, **text ? "," : "", pass);
	if (trial_apply(t, &after, pass) &&
		(!after || (trial_is_fixed_point(t, after) && interp_check_layout(after, NULL) &&
				   interp_check_modules(*m, after, NULL)))) {
		if (after) {
			*m = after;
			*text = with;
		}
		t->text = said; /* without why a pass refused */
		return true;
	}
	t->text = talloc_asprintf_append(t->text, "after %s\n", with);
	return false;
}

static bool
is_of_family(const struct pass *p, const char *family)
{
	return strcmp(p->family, family) == 0;
}

/* A pass of the table, of the family or, where that is NULL, one that trains nothing. */
static const char *
drawn_pass(struct trial *t, const char *family, uint64_t *random)
{
	const struct pass_registry *r = pass_registry_create(t);
	for (;;) {
		const struct pass *p = pass_registry_get(r, draw(random, pass_registry_count(r)));
		if (family ? !is_of_family(p, family) : is_of_family(p, "train"))
			continue;
		const char *text = trial_pass_text(t, p, random);
		if (text)
			return text;
	}
}

bool
trial_pipeline(struct trial *t, struct ir_module **m, uint64_t seed, bool train, const char **text)
{
	uint64_t random = rt_mix64(seed ^ UINT64_C(0x706970656c696e65)) | 1;
	*text = "";
	if (train && !checked_pass(t, m, "grad", text))
		return false;
	if (train && draw(&random, 3) && !checked_pass(t, m, drawn_pass(t, "train", &random), text))
		return false;
	for (int n = 1 + draw(&random, MOST_PASSES); n > 0; n--)
		if (!checked_pass(t, m, drawn_pass(t, NULL, &random), text))
			return false;
	return true;
}

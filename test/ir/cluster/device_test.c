/* What a device does with types whose rate is not given. */
#include "ir/cluster/device.h"
#include "test/unit.h"

static void
a_rate_that_is_not_given_is_that_of_a_near_type(void **state)
{
	(void)state;
	struct device *d = device_generic(NULL);
	for (int t = 0; t < IR_NDTYPES; t++)
		assert_true(device_flops(d, (enum ir_dtype)t) == d->f32);
	d->bf16 = 3;
	assert_true(device_flops(d, IR_f16) == 3 && device_flops(d, IR_i8) == 3);
	d->f16 = 4;
	assert_true(device_flops(d, IR_f16) == 4 && device_flops(d, IR_bf16) == 3);
	assert_true(device_flops(d, IR_u8) == 4 && device_flops(d, IR_f64) == d->f32);
	d->bf16 = 0;
	d->f64 = 5;
	d->i8 = 6;
	assert_true(device_flops(d, IR_bf16) == 4 && device_flops(d, IR_f64) == 5);
	assert_true(device_flops(d, IR_i8) == 6 && device_flops(d, IR_i32) == d->f32);
	talloc_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_that_is_not_given_is_that_of_a_near_type),
	};
	return cmocka_run_group_tests_name("device rates", tests, NULL, NULL);
}

/* Hexadecimal digits in texts. */
#ifndef IR_HEX_H
#define IR_HEX_H

/* The value of a hex digit of either case, -1 if it is not one. */
static inline int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif

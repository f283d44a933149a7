/* Hexadecimal digits in texts. */
#ifndef IR_HEX_H
#define IR_HEX_H

/* What a digit of either case stands for, -1 if it is none. */
static inline int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif

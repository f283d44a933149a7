/* How long something takes. */
#ifndef IR_BASE_CLOCK_H
#define IR_BASE_CLOCK_H

/* Seconds of a clock that never goes back. */
double clock_seconds(void);

#endif

/* Ops of ours that are still to come: OP_NCODES says that an op is not there. */
#ifndef PARSER_STABLEHLO_IMPORT_PENDING_H
#define PARSER_STABLEHLO_IMPORT_PENDING_H

#define OP_bitcast OP_NCODES
#define OP_popcnt OP_NCODES
#define OP_clz OP_NCODES
#define OP_round_away OP_NCODES
#define OP_reduce_precision OP_NCODES

#endif

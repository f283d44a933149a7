/* See streams.h. One lock is held while queues are examined, and released while work is executed,
 * so that ranks of one process compute at the same time. */
#include "streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STREAMS = 4096, RANK_STREAMS = 4 };

enum kind { WORK, RECORD, WAIT, LAUNCH };

/* An event: how often it was recorded, and its last completed record. It lives as long as the
 * process: entries of a queue may refer to it after it is destroyed. */
struct event {
	unsigned long recorded, done;
	struct stream *stream;  /* of the last record */
	unsigned long position; /* of it in the stream */
	int device;
	struct timespec time;
	struct graph *graph; /* if the last record was captured: its graph and node */
	int node;
};

/* An entry of a stream, or a node of a graph. */
struct entry {
	struct entry *next;
	enum kind kind;
	shim_work *work;
	void *data;
	struct event *event;    /* RECORD, WAIT */
	unsigned long number;   /* number of the event's record */
	struct stream *from;    /* WAIT: the stream of that record, */
	unsigned long position; /* and its position there */
	struct graph *graph;    /* LAUNCH */
	/* of a node: */
	int stream;           /* by the order in which streams joined the capture */
	int before, recorded; /* preceding nodes; -1: none */
	bool ran;
};

struct graph {
	int references;
	struct entry *node;
	int n, room;
	struct stream **stream; /* streams of the capture; the first began it */
	int *last;              /* node of each */
	int nstreams;
	int **held; /* see shim_hold */
	int nheld;
	unsigned long eager; /* one bit per stream */
};

struct stream {
	struct entry *head, *tail;
	unsigned long put, done; /* number of entries */
	bool busy, eager;
	int device;
	struct graph *capture; /* NULL: none */
	int index;             /* in the capture */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct stream *streams[MOST_STREAMS]; /* NULL: destroyed */
static int nstreams, neager, nranks;
static struct stream
	null_stream[SHIM_DEVICES]; /* other streams do not wait for it: they are non-blocking */
static _Thread_local int current;
static _Thread_local struct stream *captures; /* the stream whose capture this thread has begun */

static struct stream *
of(cudaStream_t stream)
{
	return (struct stream *)stream;
}

/* --- running: with the lock, except for the work itself --------------------------------------- */

static void run_graph(struct graph *g);

static bool
is_blocked(const struct entry *e)
{
	return e->kind == WAIT && e->event->done < e->number;
}

static void
mark(struct event *e, unsigned long number)
{
	e->done = number;
	clock_gettime(CLOCK_MONOTONIC, &e->time);
}

static void drop_graph(struct graph *g);

/* Executes the first entry of an idle stream. False: there is none, or it waits. */
static bool
step(struct stream *s)
{
	struct entry *e = s->head;

	if (s->busy || !e || is_blocked(e))
		return false;
	if (e->kind == RECORD)
		mark(e->event, e->number);
	if (e->kind == WORK || e->kind == LAUNCH) {
		s->busy = true;
		pthread_mutex_unlock(&lock);
		if (e->kind == WORK)
			e->work(e->data);
		else
			run_graph(e->graph);
		pthread_mutex_lock(&lock);
		s->busy = false;
	}
	if (e->kind == LAUNCH)
		drop_graph(e->graph);
	s->head = e->next;
	s->tail = s->head ? s->tail : NULL;
	s->done++;
	free(e->data);
	free(e);
	pthread_cond_broadcast(&changed);
	return true;
}

/* Runs eager streams as far as possible. */
static void
hurry(void)
{
	bool any = neager > 0;

	while (any) {
		any = false;
		for (int i = 0; i < nstreams; i++)
			while (streams[i] && streams[i]->eager && step(streams[i]))
				any = true;
	}
}

/* Executes a stream up to an entry, and of other streams only what that waits for. */
static void
finish(struct stream *s, unsigned long until)
{
	while (s->done < until) {
		if (step(s)) {
			hurry();
			continue;
		}
		if (s->busy) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		finish(s->head->from, s->head->position);
	}
}

static struct entry *
append(struct stream *s, enum kind kind)
{
	struct entry *e = calloc(1, sizeof *e);

	if (!e)
		abort();
	e->kind = kind;
	if (s->tail)
		s->tail->next = e;
	else
		s->head = e;
	s->tail = e;
	s->put++;
	return e;
}

static void *
copy(const void *data, size_t bytes)
{
	void *to = malloc(bytes ? bytes : 1);

	if (!to)
		abort();
	memcpy(to, data, bytes);
	return to;
}

/* --- graphs ---------------------------------------------------------------------------------- */

static struct entry *
add_node(struct graph *g, struct stream *s, enum kind kind)
{
	if (g->n == g->room)
		g->node = realloc(g->node, (size_t)(g->room = 2 * g->n + 64) * sizeof *g->node);
	if (!g->node)
		abort();
	struct entry *e = &g->node[g->n];
	*e = (struct entry){
		.kind = kind, .stream = s->index, .before = g->last[s->index], .recorded = -1};
	g->last[s->index] = g->n++;
	return e;
}

/* A stream becomes part of a capture. */
static void
join(struct graph *g, struct stream *s)
{
	const size_t n = (size_t)++g->nstreams;

	g->stream = realloc(g->stream, n * sizeof *g->stream);
	g->last = realloc(g->last, n * sizeof *g->last);
	if (!g->stream || !g->last)
		abort();
	g->stream[n - 1] = s;
	g->last[n - 1] = -1;
	s->index = (int)n - 1;
	s->capture = g;
	g->eager |= (unsigned long)s->eager << (n - 1);
}

/* Do all nodes precede the last one of the stream that began the capture? */
static bool
is_joined(const struct graph *g)
{
	bool *before = calloc((size_t)g->n + 1, sizeof *before);
	bool all = true;

	if (!before)
		abort();
	if (g->last[0] >= 0)
		before[g->last[0]] = true;
	for (int i = g->n - 1; i >= 0; i--) {
		const struct entry *e = &g->node[i];
		all &= before[i];
		if (before[i] && e->before >= 0)
			before[e->before] = true;
		if (before[i] && e->recorded >= 0)
			before[e->recorded] = true;
	}
	free(before);
	return all;
}

static bool
can_run(const struct graph *g, int node)
{
	const struct entry *e = &g->node[node];

	return (e->before < 0 || g->node[e->before].ran) &&
	       (e->recorded < 0 || g->node[e->recorded].ran);
}

/* The next node in a stream's part; -1: none. */
static int
next_of(const struct graph *g, int stream)
{
	for (int i = 0; i < g->n; i++)
		if (!g->node[i].ran && g->node[i].stream == stream)
			return i;
	return -1;
}

/* The next node: of an eager stream, else of the first stream, or the node that it waits for. */
static int
choose(const struct graph *g)
{
	int node = -1;

	for (int s = 0; s < g->nstreams; s++)
		if (g->eager >> s & 1 && (node = next_of(g, s)) >= 0 && can_run(g, node))
			return node;
	for (int s = 0; s < g->nstreams; s++)
		if ((node = next_of(g, s)) >= 0)
			break;
	while (!can_run(g, node))
		node = next_of(g, g->node[g->node[node].recorded].stream);
	return node;
}

/* State of one launch at a time: a graph's launches are in one stream. */
static void
run_graph(struct graph *g)
{
	for (int i = 0; i < g->n; i++)
		g->node[i].ran = false;
	for (int i = 0; i < g->n; i++) {
		struct entry *e = &g->node[choose(g)];
		if (e->kind == WORK)
			e->work(e->data);
		e->ran = true;
	}
}

static void
drop_graph(struct graph *g)
{
	if (--g->references)
		return;
	for (int i = 0; i < g->n; i++)
		free(g->node[i].data);
	for (int i = 0; i < g->nheld; i++)
		--*g->held[i];
	free(g->node);
	free(g->stream);
	free(g->last);
	free(g->held);
	free(g);
}

void
shim_hold(cudaStream_t stream, int *graphs)
{
	struct graph *g = of(stream)->capture;

	pthread_mutex_lock(&lock);
	if (g) {
		g->held = realloc(g->held, (size_t)(g->nheld + 1) * sizeof *g->held);
		if (!g->held)
			abort();
		g->held[g->nheld++] = graphs;
		++*graphs;
	}
	pthread_mutex_unlock(&lock);
}

cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	struct stream *s = of(stream);

	if (!s || s->capture || captures || mode != cudaStreamCaptureModeThreadLocal)
		return cudaErrorIllegalState;
	struct graph *g = calloc(1, sizeof *g);
	if (!g)
		return cudaErrorMemoryAllocation;
	g->references = 1;
	join(g, s);
	captures = s;
	return cudaSuccess;
}

cudaError_t
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	struct stream *s = of(stream);
	struct graph *g = s->capture;

	if (!g || captures != s)
		return cudaErrorIllegalState;
	captures = NULL;
	for (int i = 0; i < g->nstreams; i++)
		g->stream[i]->capture = NULL;
	*graph = (cudaGraph_t)g;
	return is_joined(g) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	struct graph *g = (struct graph *)graph;

	(void)flags;
	pthread_mutex_lock(&lock);
	g->references++;
	pthread_mutex_unlock(&lock);
	*exec = (cudaGraphExec_t)g;
	return cudaSuccess;
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
	pthread_mutex_lock(&lock);
	drop_graph((struct graph *)graph);
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return cudaGraphDestroy((cudaGraph_t)exec);
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	struct graph *g = (struct graph *)exec;

	if (!stream || of(stream)->capture)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	g->references++;
	append(of(stream), LAUNCH)->graph = g;
	hurry();
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

/* --- devices and streams --------------------------------------------------------------------- */

cudaError_t
cudaGetDeviceCount(int *count)
{
	*count = SHIM_DEVICES;
	return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
	if (device >= SHIM_DEVICES)
		return cudaErrorInvalidDevice;
	current = device;
	return cudaSuccess;
}

cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	static _Thread_local int own, rank; /* streams of this thread, and its rank */
	struct stream *s = calloc(1, sizeof *s);
	const char *eager = getenv("SHIM_STREAMS");

	if (!s || flags != cudaStreamNonBlocking || priority > 0)
		return cudaErrorInvalidValue;
	s->device = current;
	pthread_mutex_lock(&lock);
	if (nstreams == MOST_STREAMS)
		abort();
	if (own++ % RANK_STREAMS == 0)
		rank = nranks++;
	const int number = rank * RANK_STREAMS + (own - 1) % RANK_STREAMS;
	s->eager = eager && strtoull(eager, NULL, 0) >> (number % 64) & 1;
	neager += s->eager;
	streams[nstreams++] = s;
	pthread_mutex_unlock(&lock);
	*stream = (cudaStream_t)s;
	return cudaSuccess;
}

cudaError_t
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	struct stream *s = of(stream);

	pthread_mutex_lock(&lock);
	finish(s, s->put);
	for (int i = 0; i < nstreams; i++)
		if (streams[i] == s)
			streams[i] = NULL;
	pthread_mutex_unlock(&lock);
	return cudaSuccess; /* not freed: events refer to it */
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	struct stream *s = of(stream);

	if (!s)
		return cudaErrorInvalidValue;
	if (captures)
		return cudaErrorStreamCaptureUnsupported;
	const char *slow = getenv("SHIM_SLOW");
	if (slow)
		nanosleep(
			&(struct timespec){atoi(slow) / 1000, atoi(slow) % 1000 * 1000000L}, NULL);
	pthread_mutex_lock(&lock);
	finish(s, s->put);
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

void
shim_finish_device(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < nstreams; i++)
		if (streams[i] && streams[i]->device == current)
			finish(streams[i], streams[i]->put);
	finish(&null_stream[current], null_stream[current].put);
	pthread_mutex_unlock(&lock);
}

cudaError_t
cudaDeviceSynchronize(void)
{
	if (captures)
		return cudaErrorStreamCaptureUnsupported;
	shim_finish_device();
	return cudaSuccess;
}

cudaError_t
shim_put(cudaStream_t stream, shim_work *work, const void *data, size_t bytes)
{
	struct stream *s = stream ? of(stream) : &null_stream[current];

	if (stream && s->device != current)
		return cudaErrorInvalidResourceHandle;
	pthread_mutex_lock(&lock);
	struct entry *e = s->capture ? add_node(s->capture, s, WORK) : append(s, WORK);
	e->work = work;
	e->data = copy(data, bytes);
	hurry();
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

/* --- events ---------------------------------------------------------------------------------- */

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	struct event *e = calloc(1, sizeof *e);

	(void)flags;
	if (!e)
		return cudaErrorMemoryAllocation;
	e->device = current;
	*event = (cudaEvent_t)e;
	return cudaSuccess;
}

cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	return event ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct event *e = (struct event *)event;
	struct stream *s = of(stream);

	if (!e || !s || e->device != s->device)
		return cudaErrorInvalidResourceHandle;
	pthread_mutex_lock(&lock);
	e->graph = s->capture;
	e->stream = s;
	if (s->capture) {
		add_node(s->capture, s, RECORD);
		e->node = s->capture->n - 1;
	} else {
		struct entry *entry = append(s, RECORD);
		entry->event = e;
		entry->number = ++e->recorded;
		e->position = s->put;
		hurry();
	}
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

static cudaError_t
wait_captured(struct stream *s, const struct event *e)
{
	if (e->graph != captures->capture)
		return e->graph ? cudaErrorCapturedEvent : cudaErrorStreamCaptureIsolation;
	if (!s->capture)
		join(e->graph, s);
	add_node(s->capture, s, WAIT)->recorded = e->node;
	return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	struct event *e = (struct event *)event;
	struct stream *s = of(stream);
	cudaError_t error = cudaSuccess;

	(void)flags;
	/* CUDA accepts an event that was never recorded; in our programs waiting for one is a
	 * bug. */
	if (!s || !e || !e->stream)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	if (captures && (s->capture || e->graph))
		error = wait_captured(s, e);
	else if (e->graph)
		error = cudaErrorCapturedEvent;
	else {
		struct entry *entry = append(s, WAIT);
		entry->event = e;
		entry->number = e->recorded;
		entry->from = e->stream;
		entry->position = e->position;
		hurry();
	}
	pthread_mutex_unlock(&lock);
	return error;
}

/* Events are queried by threads whose device is the event's: another device would get a context. */
cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	const struct event *e = (struct event *)event;

	if (!e || e->device != current)
		return cudaErrorInvalidResourceHandle;
	pthread_mutex_lock(&lock);
	const cudaError_t error = e->graph                ? cudaErrorCapturedEvent
				  : e->done < e->recorded ? cudaErrorNotReady
							  : cudaSuccess;
	pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	struct event *e = (struct event *)event;

	if (!e || captures)
		return e ? cudaErrorStreamCaptureUnsupported : cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	if (e->stream && !e->graph)
		finish(e->stream, e->position);
	pthread_mutex_unlock(&lock);
	return e->graph ? cudaErrorCapturedEvent : cudaSuccess;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	const struct event *a = (struct event *)begin, *b = (struct event *)end;

	pthread_mutex_lock(&lock);
	const bool ready =
		a->recorded && b->recorded && a->done == a->recorded && b->done == b->recorded;
	*ms = (float)((double)(b->time.tv_sec - a->time.tv_sec) * 1e3 +
		      (double)(b->time.tv_nsec - a->time.tv_nsec) / 1e6);
	pthread_mutex_unlock(&lock);
	return ready ? cudaSuccess : cudaErrorNotReady;
}

/* Large NumPy arrays: in memory up to a budget, beyond it in unlinked files that are mapped in chunks.
 *
 * Invariants: a region is mapped from allocation to free, its disk space is reserved before it is used (a
 * full disk is a failed allocation, never a fault), and it has no name that could stay behind. While a
 * ceiling is set, a chunk that is not in memory cannot be accessed: the first access calls
 * scratch_fault, which releases the chunks that came first until there is room, and then lets this one
 * in. So memory is bound by construction, however fast rows are read. A forked child gets copies of
 * its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <ucontext.h>
#endif
#ifdef __linux__
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#endif

#define CHUNK ((size_t)1 << 20)
#define FEWEST 32 /* chunks that stay in memory whatever the limit: what all threads use at one time */

typedef struct chunk {
    struct chunk *before, *after; /* in the order in which chunks came into memory; NULL: not in it */
    struct region *owner;
} chunk;

typedef struct region {
    char *address;
    size_t size;
    int file;      /* -1: in memory */
    int shared;    /* changes go to the file, so pages can be dropped */
    chunk *chunks; /* NULL: all can be accessed */
    struct region *next;
} region;

static region *scratch_regions = NULL;
static chunk scratch_queue = {&scratch_queue, &scratch_queue, NULL}; /* after: the oldest chunk */
static size_t scratch_present = 0;                                   /* chunks in the queue */
static int scratch_ceilings = 0;                                     /* that are in force */
static struct sigaction scratch_others[2];                           /* handlers before ours */
static size_t scratch_limit = SIZE_MAX; /* bytes in memory above which chunks are released */
static char scratch_folder[4096] = "/tmp";
static size_t scratch_threshold = 1 << 24;
static size_t scratch_smallest = 1 << 24; /* the smallest threshold ever set */
static size_t scratch_budget = 0;         /* bytes of large arrays in memory */
static size_t scratch_in_memory = 0, scratch_in_use = 0, scratch_most = 0;
static size_t scratch_peak = 0;   /* the largest resident size that was seen */
static size_t scratch_visited = 0; /* bytes that came from files into memory */
static int scratch_pressed = 0;   /* more than the limit is in memory, and it is not in chunks */
static int scratch_error = 0;     /* errno of the last failure */
static int scratch_statm = -1;    /* /proc/self/statm */
static char scratch_locked = 0;

/* A lock that a signal handler may take: its holders touch no region. */
static void scratch_lock(void) {
    while (__atomic_test_and_set(&scratch_locked, __ATOMIC_ACQUIRE)) sched_yield();
}

static void scratch_unlock(void) { __atomic_clear(&scratch_locked, __ATOMIC_RELEASE); }

/* Bytes of this process in memory; 0 where the system does not say. */
static size_t scratch_resident(void) {
    char text[128];
    if (scratch_statm < 0) scratch_statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = scratch_statm < 0 ? -1 : pread(scratch_statm, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    char *second = strchr(text, ' ');
    size_t pages = 0;
    for (second = second ? second + 1 : text; *second >= '0' && *second <= '9'; second++)
        pages = 10 * pages + (size_t)(*second - '0');
    size_t resident = pages * (size_t)sysconf(_SC_PAGESIZE);
    if (resident > scratch_peak) scratch_peak = resident;
    return resident;
}

/* Chunks ------------------------------------------------------------------------------------------- */

static size_t scratch_count(const region *entry) { return (entry->size + CHUNK - 1) / CHUNK; }

static char *scratch_place(const chunk *own, size_t *size) {
    size_t start = (size_t)(own - own->owner->chunks) * CHUNK, left = own->owner->size - start;
    *size = left < CHUNK ? left : CHUNK;
    return own->owner->address + start;
}

static void scratch_unlink(chunk *own) {
    own->before->after = own->after;
    own->after->before = own->before;
    own->before = own->after = NULL;
    scratch_present--;
}

static void scratch_evict(chunk *own) {
    size_t size;
    char *place = scratch_place(own, &size);
    mprotect(place, size, PROT_NONE);
    madvise(place, size, MADV_DONTNEED); /* the file keeps the content */
    scratch_unlink(own);
}

/* Release chunks, the oldest first, until `more` bytes fit below the limit. */
static void scratch_make_room(size_t more, size_t fewest) {
    size_t resident = scratch_resident();
    while (resident + more > scratch_limit && scratch_present > fewest) {
        scratch_evict(scratch_queue.after);
        resident -= resident < CHUNK ? resident : CHUNK;
    }
    scratch_pressed = resident + more > scratch_limit;
}

static void scratch_bring(chunk *own, int writes) {
    if (own->after) return; /* another thread was faster */
    scratch_make_room(CHUNK, FEWEST);
    size_t size;
    char *place = scratch_place(own, &size);
    mprotect(place, size, PROT_READ | PROT_WRITE);
#ifdef __linux__
    madvise(place, size, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#endif
    own->after = &scratch_queue;
    own->before = scratch_queue.before;
    own->before->after = scratch_queue.before = own;
    scratch_present++;
    scratch_visited += size;
}

static int scratch_writes(void *context) {
#if defined(__x86_64__) && defined(__GLIBC__)
    return ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? 1 : 0;
#else
    return 0;
#endif
}

/* The region that holds an address; NULL if there is none. */
static region *scratch_region_at(const char *address) {
    region *entry = scratch_regions;
    while (entry && !(address >= entry->address && address < entry->address + entry->size))
        entry = entry->next;
    return entry;
}

/* The first access to a chunk that is not in memory; other faults go to the handler before ours. */
static void scratch_fault(int number, siginfo_t *info, void *context) {
    int kept = errno;
    region *entry = NULL;
    if (info->si_code > 0) { /* not sent by a process */
        const char *address = info->si_addr;
        scratch_lock();
        entry = scratch_region_at(address);
        if (entry && entry->chunks) /* else it has become accessible in the meantime */
            scratch_bring(&entry->chunks[(size_t)(address - entry->address) / CHUNK], scratch_writes(context));
        scratch_unlock();
    }
    errno = kept;
    if (entry) return;
    struct sigaction *other = &scratch_others[number == SIGSEGV ? 0 : 1];
    if (other->sa_flags & SA_SIGINFO)
        other->sa_sigaction(number, info, context);
    else if (other->sa_handler != SIG_DFL && other->sa_handler != SIG_IGN)
        other->sa_handler(number);
    else
        sigaction(number, other, NULL); /* the instruction runs again and ends the process */
}

static void scratch_handle(int number, struct sigaction *other) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = scratch_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    sigaction(number, &ours, other);
}

static void scratch_unhandle(int number, struct sigaction *other) {
    struct sigaction current;
    sigaction(number, NULL, &current);
    if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == scratch_fault)
        sigaction(number, other, NULL);
}

/* Let a region be accessed as a whole, without further faults. */
static void scratch_unpage(region *entry) {
    if (!entry->chunks) return;
    for (size_t i = 0; i < scratch_count(entry); i++)
        if (entry->chunks[i].after) scratch_unlink(&entry->chunks[i]);
    mprotect(entry->address, entry->size, PROT_READ | PROT_WRITE);
}

/* A ceiling begins: regions that are made from now on are let in by chunks. */
static void scratch_begin(void) {
    scratch_lock();
    if (scratch_ceilings++ == 0) {
        scratch_handle(SIGSEGV, &scratch_others[0]);
        scratch_handle(SIGBUS, &scratch_others[1]); /* what macOS sends */
    }
    scratch_unlock();
}

/* A ceiling ends: with the last one, arrays that are still in use become ordinary mapped files. */
static void scratch_end(void) {
    scratch_lock();
    if (--scratch_ceilings == 0) {
        for (region *entry = scratch_regions; entry; entry = entry->next) {
            scratch_unpage(entry);
            free(entry->chunks);
            entry->chunks = NULL;
        }
        scratch_unhandle(SIGSEGV, &scratch_others[0]);
        scratch_unhandle(SIGBUS, &scratch_others[1]);
    }
    scratch_unlock();
}

/* Fork: the child sees the arrays as they are, and what it writes stays its own. */
static void scratch_in_child(void) {
    scratch_statm = -1;
    for (region *entry = scratch_regions; entry; entry = entry->next) {
        if (entry->file < 0 || !entry->shared) continue;
        scratch_unpage(entry);
        entry->chunks = NULL;
        entry->shared = 0;
        mmap(entry->address, entry->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, entry->file, 0);
    }
    scratch_unlock();
}

/* Regions ------------------------------------------------------------------------------------------ */

static int scratch_open(void) {
#ifdef O_TMPFILE
    int nameless = open(scratch_folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (nameless >= 0) return nameless;
#endif
    char path[4200];
    snprintf(path, sizeof path, "%s/pellucid-XXXXXX", scratch_folder);
    int named = mkstemp(path);
    if (named >= 0) unlink(path);
    return named;
}

static int scratch_reserve(int file, size_t size) {
#ifdef __APPLE__
    return ftruncate(file, (off_t)size) ? errno : 0;
#else
    return posix_fallocate(file, 0, (off_t)size);
#endif
}

/* Map a nameless file of the entry's size; 0 if the disk is full. */
static int scratch_map(region *entry) {
    int failed;
    size_t count = scratch_count(entry);
    entry->chunks = scratch_ceilings ? calloc(count, sizeof *entry->chunks) : NULL;
    for (size_t i = 0; entry->chunks && i < count; i++) entry->chunks[i].owner = entry;
    entry->file = scratch_open();
    failed = entry->file < 0 ? errno : scratch_reserve(entry->file, entry->size);
    if (!failed) {
        int access = entry->chunks ? PROT_NONE : PROT_READ | PROT_WRITE;
        entry->address = mmap(NULL, entry->size, access, MAP_SHARED, entry->file, 0);
        if (entry->address != MAP_FAILED) return 1;
        failed = errno;
    }
    if (entry->file >= 0) close(entry->file);
    free(entry->chunks);
    scratch_error = failed;
    return 0;
}

static void *scratch_large(size_t size, int zeros) {
    region *entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    scratch_lock();
    int fits = scratch_in_memory + size <= scratch_budget;
    if (fits) scratch_in_memory += size;
    scratch_unlock();
    entry->size = size;
    entry->file = -1;
    entry->shared = 1;
    int made = 1;
    if (fits)
        made = (entry->address = zeros ? calloc(1, size) : malloc(size)) != NULL;
    else
        made = scratch_map(entry); /* new files hold zeros */
    scratch_lock();
    if (made) {
        entry->next = scratch_regions;
        scratch_regions = entry;
        if (!fits) scratch_in_use += size;
        if (scratch_in_use > scratch_most) scratch_most = scratch_in_use;
    } else if (fits) {
        scratch_in_memory -= size;
    }
    if (fits) scratch_make_room(size, 0); /* it will be touched without a fault */
    scratch_unlock();
    void *address = made ? entry->address : NULL;
    if (!made) free(entry);
    return address;
}

/* Give a region back; 0 if the address is none. */
static int scratch_give_back(void *address) {
    region *entry = NULL;
    scratch_lock();
    for (region **link = &scratch_regions; *link; link = &(*link)->next)
        if ((*link)->address == address) {
            entry = *link;
            *link = entry->next;
            *(entry->file < 0 ? &scratch_in_memory : &scratch_in_use) -= entry->size;
            if (entry->chunks)
                for (size_t i = 0; i < scratch_count(entry); i++)
                    if (entry->chunks[i].after) scratch_unlink(&entry->chunks[i]);
            break;
        }
    scratch_unlock();
    if (!entry) return 0;
    if (entry->file < 0) {
        free(address);
    } else {
        munmap(address, entry->size);
        close(entry->file);
    }
    free(entry->chunks);
    free(entry);
    return 1;
}

/* The file of the region that holds this address, and the place in it; -1 if it is in memory. */
static int scratch_file_of(const char *address, size_t *place) {
    scratch_lock();
    region *entry = scratch_region_at(address);
    int file = entry && entry->shared ? entry->file : -1;
    if (file >= 0) *place = (size_t)(address - entry->address);
    scratch_unlock();
    return file;
}

/* Copy bytes between arrays, of which one is in a file: directly, without bringing its chunks in. */
static void scratch_copy(char *to, const char *from, size_t size) {
    size_t place = 0;
    int reads = 0, file = scratch_file_of(to, &place);
    if (file < 0) reads = (file = scratch_file_of(from, &place)) >= 0;
    while (file >= 0 && size) {
        ssize_t done = reads ? pread(file, to, size, (off_t)place) : pwrite(file, from, size, (off_t)place);
        if (done <= 0) break; /* both are in files */
        if (reads) __atomic_fetch_add(&scratch_visited, (size_t)done, __ATOMIC_RELAXED);
        to += done, from += done, place += (size_t)done, size -= (size_t)done;
    }
    memcpy(to, from, size);
}

static size_t scratch_size(void *address) {
    size_t size = 0;
    scratch_lock();
    for (region *entry = scratch_regions; entry; entry = entry->next)
        if (entry->address == address) size = entry->size;
    scratch_unlock();
    return size;
}

static void *scratch_malloc(void *context, size_t size) {
    return size < scratch_threshold ? malloc(size ? size : 1) : scratch_large(size, 0);
}

static void *scratch_calloc(void *context, size_t count, size_t each) {
    if (each && count > SIZE_MAX / each) return NULL;
    if (count * each < scratch_threshold) return calloc(count ? count : 1, each ? each : 1);
    return scratch_large(count * each, 1);
}

static void scratch_free(void *context, void *address, size_t size) {
    if (address && (size < scratch_smallest || !scratch_give_back(address))) free(address);
}

static void *scratch_realloc(void *context, void *address, size_t size) {
    size_t mapped = address ? scratch_size(address) : 0;
    if (!mapped && (size < scratch_threshold || address)) return realloc(address, size ? size : 1);
    void *moved = scratch_malloc(context, size);
    if (moved && mapped) memcpy(moved, address, mapped < size ? mapped : size);
    if (moved) scratch_free(context, address, mapped);
    return moved;
}

/* Give free memory, and the pages of all regions, back to the system. */
static void scratch_release(void) {
    scratch_lock();
    while (scratch_present) scratch_evict(scratch_queue.after);
    for (region *entry = scratch_regions; entry; entry = entry->next)
        if (entry->file >= 0 && entry->shared) madvise(entry->address, entry->size, MADV_DONTNEED);
    scratch_unlock();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* After a block of rows: go below the limit, if what is not in chunks has grown. */
static void scratch_relieve(void) {
    static int calls = 0;
    if (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 8) return;
    scratch_lock();
    scratch_make_room(0, FEWEST);
    int pressed = scratch_pressed;
    scratch_unlock();
#ifdef __GLIBC__
    if (pressed) malloc_trim(0);
#endif
}

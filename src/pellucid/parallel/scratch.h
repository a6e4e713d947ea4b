/* Large NumPy arrays: in memory up to a budget, beyond it in unlinked files, whose pages the kernel may
 * drop from memory and read again. Invariant: a region is mapped from allocation to free, its disk space
 * is reserved before it is used (a full disk is a failed allocation, never a fault), and it has no name
 * that could stay behind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

typedef struct region {
    void *address;
    size_t size;
    int file; /* -1: in memory */
    struct region *next;
} region;

static pthread_mutex_t scratch_lock = PTHREAD_MUTEX_INITIALIZER;
static region *scratch_regions = NULL;
#define BLOCKS 2 /* of 2 MB, between two looks at the resident size */
static size_t scratch_limit = SIZE_MAX; /* bytes in memory above which pages are released */
static char scratch_folder[4096] = "/tmp";
static size_t scratch_threshold = 1 << 24;
static size_t scratch_smallest = 1 << 24; /* the smallest threshold ever set */
static size_t scratch_budget = 0; /* bytes of large arrays in memory */
static size_t scratch_in_memory = 0, scratch_in_use = 0, scratch_most = 0;
static int scratch_error = 0; /* errno of the last failure */

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

/* A nameless file of `size` bytes in memory of its own, as *file; NULL if the disk is full. */
static void *scratch_map(size_t size, int *file) {
    void *address = MAP_FAILED;
    *file = scratch_open();
    int failed = *file < 0 ? errno : scratch_reserve(*file, size);
    if (!failed) {
        address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
        if (address == MAP_FAILED) failed = errno;
    }
    if (!failed) return address;
    if (*file >= 0) close(*file);
    scratch_error = failed;
    return NULL;
}

static void *scratch_large(size_t size, int zeros) {
    region *entry = malloc(sizeof *entry);
    if (!entry) return NULL;
    pthread_mutex_lock(&scratch_lock);
    int fits = scratch_in_memory + size <= scratch_budget;
    if (fits) scratch_in_memory += size;
    pthread_mutex_unlock(&scratch_lock);
    entry->size = size;
    entry->file = -1;
    if (fits)
        entry->address = zeros ? calloc(1, size) : malloc(size);
    else
        entry->address = scratch_map(size, &entry->file); /* new files hold zeros */
    pthread_mutex_lock(&scratch_lock);
    if (entry->address) {
        entry->next = scratch_regions;
        scratch_regions = entry;
        if (!fits) scratch_in_use += size;
        if (scratch_in_use > scratch_most) scratch_most = scratch_in_use;
    } else if (fits) {
        scratch_in_memory -= size;
    }
    pthread_mutex_unlock(&scratch_lock);
    void *address = entry->address;
    if (!address) free(entry);
    return address;
}

/* Give a region back; 0 if the address is none. */
static int scratch_give_back(void *address) {
    region *entry = NULL;
    pthread_mutex_lock(&scratch_lock);
    for (region **link = &scratch_regions; *link; link = &(*link)->next)
        if ((*link)->address == address) {
            entry = *link;
            *link = entry->next;
            *(entry->file < 0 ? &scratch_in_memory : &scratch_in_use) -= entry->size;
            break;
        }
    pthread_mutex_unlock(&scratch_lock);
    if (!entry) return 0;
    if (entry->file < 0) {
        free(address);
    } else {
        munmap(address, entry->size);
        close(entry->file);
    }
    free(entry);
    return 1;
}

/* The file of the region that holds this address, and the place in it; -1 if it is in memory. */
static int scratch_file_of(char *address, size_t *place) {
    int file = -1;
    pthread_mutex_lock(&scratch_lock);
    for (region *entry = scratch_regions; entry; entry = entry->next)
        if (address >= (char *)entry->address && address < (char *)entry->address + entry->size) {
            file = entry->file;
            *place = (size_t)(address - (char *)entry->address);
        }
    pthread_mutex_unlock(&scratch_lock);
    return file;
}

/* Copy bytes into a region: into its file directly, which costs a third of writing to its pages. */
static void scratch_write(char *to, const char *from, size_t size) {
    size_t place = 0;
    int file = scratch_file_of(to, &place);
    while (file >= 0 && size) {
        ssize_t done = pwrite(file, from, size, (off_t)place);
        if (done <= 0) break;
        to += done, from += done, place += (size_t)done, size -= (size_t)done;
    }
    memcpy(to, from, size);
}

static size_t scratch_size(void *address) {
    size_t size = 0;
    pthread_mutex_lock(&scratch_lock);
    for (region *entry = scratch_regions; entry; entry = entry->next)
        if (entry->address == address) size = entry->size;
    pthread_mutex_unlock(&scratch_lock);
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

/* Drop the pages of regions of at least `size` bytes from this process; files keep the content. */
static void scratch_drop(size_t size) {
    pthread_mutex_lock(&scratch_lock);
    for (region *entry = scratch_regions; entry; entry = entry->next)
        if (entry->file >= 0 && entry->size >= size)
            madvise(entry->address, entry->size, MADV_DONTNEED);
    pthread_mutex_unlock(&scratch_lock);
}

/* Bytes of this process in memory; 0 where the system does not say. */
static size_t scratch_resident(void) {
    size_t resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm) return 0;
    unsigned long pages = 0;
    if (fscanf(statm, "%*u %lu", &pages) == 1) resident = pages * (size_t)sysconf(_SC_PAGESIZE);
    fclose(statm);
    return resident;
}

/* Go below the limit: the largest regions first, which are read through, then those used all the time. */
static void scratch_release(void) {
    scratch_drop(scratch_limit / 4);
    if (scratch_resident() > scratch_limit) scratch_drop(0);
}

/* Give free memory back to the system. */
static void scratch_trim(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Release pages if more than the limit is resident; called after every block of rows, looks at few. */
static void scratch_relieve(int now) {
    static int calls = 0;
    if (now || __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % BLOCKS == 0)
        if (scratch_resident() > scratch_limit) scratch_release();
}

/* Until `stop` is set: note the largest resident size, and release pages above the limit. A busy machine may
 * not let this thread run for long, so loops over blocks look for themselves (scratch_relieve). */
static size_t scratch_watch(volatile int *stop) {
    struct timespec pause = {0, 500000}; /* pages can be mapped at 10 GB a second */
    size_t peak = 0;
    for (int round = 0; !*stop; round++) {
        size_t resident = scratch_resident();
        if (resident > peak) peak = resident;
        if (resident > scratch_limit) {
            scratch_release();
            if (round % 64 == 0 && scratch_resident() > scratch_limit) scratch_trim();
        }
        nanosleep(&pause, NULL);
    }
    return peak;
}

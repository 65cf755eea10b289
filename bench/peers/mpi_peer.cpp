// Open MPI measured the way `weft bench fabric` measures weft: run by it under mpirun with two ranks. Rank 0 prints
//   measured OWNER NAME SIZE UNIT SAMPLE...
//
//   mpirun -n 2 weft-mpi-peer OWNER REPEAT NANOSECONDS_A_SAMPLE BATCHES_A_SAMPLE [NAME]
//
// With a NAME nothing else is measured.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr std::size_t KiB = 1024, MiB = KiB * KiB, largest = 4 * MiB;
constexpr int burst = 64;

struct context {
  int rank = 0;
  std::string owner, only;
  int repeat = 7, batches = 1;
  double batch_seconds = 0.002;
  std::vector<char> block = std::vector<char>(largest, 1);
  MPI_Win window = MPI_WIN_NULL;

  bool leads() const { return rank == 0; }
  int other() const { return 1 - rank; }
};

// What both ranks do `count` times; the seconds that matter, as rank 0 measured them.
using body = std::function<double(long count)>;

long agree(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

long calibrate(const context& c, const body& what, long step) {
  long count = step;
  while (true) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double took = std::max(what(count), 1e-9), ratio = c.batch_seconds / took;
    const bool enough = ratio < 4 || count > (1L << 24);
    const double factor = enough ? ratio : std::min(ratio / 2, 16.0);
    count = agree(std::max(step, static_cast<long>(static_cast<double>(count) * factor) / step * step));
    if (agree(enough ? 1 : 0) != 0) return count;
  }
}

// A sample is the median of its batches, as ours are. `convert` makes it of the seconds that one repetition takes.
void measure(const context& c, const char* name, std::size_t size, const char* unit, const std::function<double(double)>& convert,
             const body& what, long step = 1) {
  if (!c.only.empty() && c.only != name) return;
  const long count = calibrate(c, what, step);
  if (c.leads()) std::printf("measured %s %s %zu %s", c.owner.c_str(), name, size, unit);
  for (int r = 0; r < c.repeat; ++r) {
    std::vector<double> each;
    for (int b = 0; b < c.batches; ++b) {
      MPI_Barrier(MPI_COMM_WORLD);
      each.push_back(what(count) / static_cast<double>(count));
    }
    std::nth_element(each.begin(), each.begin() + c.batches / 2, each.end());
    if (c.leads()) std::printf(" %.9g", convert(each[static_cast<std::size_t>(c.batches / 2)]));
  }
  if (c.leads()) std::printf("\n");
  std::fflush(stdout);
}

double nanoseconds(double seconds) {
  return seconds * 1e9;
}
double half_nanoseconds(double seconds) {
  return seconds * 0.5e9;
}
double per_second(double seconds) {
  return 1 / seconds;
}

void send(context& c, std::size_t size) {
  MPI_Send(c.block.data(), static_cast<int>(size), MPI_BYTE, c.other(), 0, MPI_COMM_WORLD);
}
void receive(context& c, std::size_t size) {
  MPI_Recv(c.block.data(), static_cast<int>(size), MPI_BYTE, c.other(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

double ping_pong(context& c, std::size_t size, long count) {
  const double start = MPI_Wtime();
  for (long i = 0; i < count; ++i) {
    if (c.leads()) send(c, size);
    receive(c, size);
    if (!c.leads()) send(c, size);
  }
  return MPI_Wtime() - start;
}

// Messages one way, a window of them at a time.
double stream(context& c, std::size_t size, long count) {
  std::vector<MPI_Request> requests(burst);
  const double start = MPI_Wtime();
  for (long i = 0; i < count / burst; ++i) {
    for (auto& r : requests) {
      if (c.leads())
        MPI_Isend(c.block.data(), static_cast<int>(size), MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r);
      else
        MPI_Irecv(c.block.data(), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r);
    }
    MPI_Waitall(burst, requests.data(), MPI_STATUSES_IGNORE);
  }
  if (c.leads()) receive(c, 8);  // all have arrived
  if (!c.leads()) send(c, 8);
  return MPI_Wtime() - start;
}

// What a send costs the sender, and a receive the receiver when the message is there already.
double overhead(context& c, bool of_sending, long count) {
  double sending = 0, receiving = 0;
  for (long i = 0; i < count / burst; ++i) {
    const double start = MPI_Wtime();
    if (c.leads())
      for (int n = 0; n < burst; ++n) send(c, 8);
    sending += MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    const double then = MPI_Wtime();
    if (!c.leads())
      for (int n = 0; n < burst; ++n) receive(c, 8);
    receiving += MPI_Wtime() - then;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  double theirs = receiving;
  MPI_Bcast(&theirs, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  return of_sending ? sending : theirs;
}

double puts(context& c, std::size_t size, long count) {
  const double start = MPI_Wtime();
  if (c.leads()) {
    for (long i = 0; i < count; ++i)
      MPI_Put(c.block.data(), static_cast<int>(size), MPI_BYTE, 1, 0, static_cast<int>(size), MPI_BYTE, c.window);
    MPI_Win_flush(1, c.window);
  }
  const double took = MPI_Wtime() - start;
  MPI_Barrier(MPI_COMM_WORLD);  // the target is inside the library meanwhile
  return took;
}

double fetch_adds(context& c, long count) {
  const double start = MPI_Wtime();
  if (c.leads()) {
    const std::int64_t one = 1;
    std::int64_t before = 0;
    for (long i = 0; i < count; ++i) {
      MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, 0, MPI_SUM, c.window);
      MPI_Win_flush(1, c.window);
    }
  }
  const double took = MPI_Wtime() - start;
  MPI_Barrier(MPI_COMM_WORLD);
  return took;
}

double barriers(long count) {
  const double start = MPI_Wtime();
  for (long i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}

void measure_all(context& c) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{64}, std::size_t{512}, 4 * KiB, 16 * KiB, 64 * KiB}) {
    measure(c, "latency", size, "ns", half_nanoseconds, [&](long n) { return ping_pong(c, size, n); });
    measure(
        c, "messages_per_second", size, "1/s", per_second, [&](long n) { return stream(c, size, n); }, burst);
  }
  measure(
      c, "send_overhead", 8, "ns", nanoseconds, [&](long n) { return overhead(c, true, n); }, burst);
  measure(
      c, "receive_overhead", 8, "ns", nanoseconds, [&](long n) { return overhead(c, false, n); }, burst);
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{64}, std::size_t{512}, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB})
    measure(
        c, "put_bandwidth", size, "GB/s", [&](double s) { return static_cast<double>(size) / s / 1e9; },
        [&](long n) { return puts(c, size, n); });
  measure(c, "fetch_add", 8, "ns", nanoseconds, [&](long n) { return fetch_adds(c, n); });
  measure(c, "barrier", 0, "ns", nanoseconds, [&](long n) { return barriers(n); });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  context c;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 5 || ranks != 2) {
    std::fprintf(stderr, "mpirun -n 2 weft-mpi-peer OWNER REPEAT NANOSECONDS_A_SAMPLE BATCHES_A_SAMPLE [NAME]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  c.owner = argv[1];
  if (argc > 5) c.only = argv[5];
  c.repeat = std::max(1, std::atoi(argv[2]));
  c.batches = std::max(1, std::atoi(argv[4]));
  c.batch_seconds = std::atof(argv[3]) / 1e9 / c.batches;
  void* exposed = nullptr;
  MPI_Win_allocate(static_cast<MPI_Aint>(largest), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &c.window);
  MPI_Win_lock_all(0, c.window);
  measure_all(c);
  MPI_Win_unlock_all(c.window);
  MPI_Win_free(&c.window);
  MPI_Finalize();
}

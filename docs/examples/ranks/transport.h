/* transport.h - how rows and numbers go between ranks: by memory, where all ranks are in this process; by MPI
 * (RANKS_MPI), a rank a process; by NCCL (RANKS_NCCL), a rank a GPU of this process.
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include "machine.h"

#ifdef RANKS_MPI
#include <mpi.h>
#endif
#ifdef RANKS_NCCL
#include <nccl.h>

inline void expect(ncclResult_t result, const char *what)
{
    if (result != ncclSuccess)
        throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}
#endif

/* What a rank sends and receives: bytes from[r] .. from[r + 1] - 1 of `sent` go to rank r, and to[r] .. of `received` come
 * from there. A stream orders it. */
struct letters {
    const char *sent;
    char *received;
    std::vector<int64_t> from, to;
    stream *on;
};

/* Where rows begin that are `bytes` long, in an array that begins with row `first`. */
inline std::vector<int64_t> bytes_of(const std::vector<int64_t> &rows, int64_t first, int64_t bytes)
{
    std::vector<int64_t> at;
    for (int64_t row : rows)
        at.push_back((row - first) * bytes);
    return at;
}

/* Numbers said by each of the ranks here to each rank; or heard. */
using numbers = std::vector<std::vector<std::vector<int32_t>>>;

/* All ranks in this process: on the CPU, or on as many GPUs as there are. */
struct transport {
    int ranks, first = 0, here; /* of all ranks these are in this process: first .. first + here - 1 */

    explicit transport(int n) : ranks(n), here(n)
    {
    }
    virtual ~transport() = default;

    /* Sends and receives for the ranks here; what was received is there for what follows on their streams, and for the
     * host after wait(). */
    virtual void start(const std::vector<letters> &all)
    {
        for (int i = 0; i < ranks; i++)
            for (int r = 0; r < ranks; r++)
                if (const int64_t bytes = all[i].from[r + 1] - all[i].from[r])
                    copy(all[r].received + all[r].to[i], *all[r].on, all[i].sent + all[i].from[r], *all[i].on, bytes);
    }
    virtual void wait()
    {
    }
    virtual numbers tell(const numbers &said)
    {
        numbers heard = said;
        for (int i = 0; i < ranks; i++)
            for (int r = 0; r < ranks; r++)
                heard[r][i] = said[i][r];
        return heard;
    }
    virtual uint64_t sum(uint64_t number) /* of all ranks'; it may wrap around */
    {
        return number;
    }
    virtual double most(double number)
    {
        return number;
    }

  private:
    static void copy(char *to, stream &there, const char *from, const stream &here, int64_t bytes)
    {
#ifdef RANKS_CUDA
        there.after(here);
        expect(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, there.own), "copy");
#else
        (void)there, (void)here;
        std::memcpy(to, from, bytes);
#endif
    }
};

#ifdef RANKS_MPI
struct mpi_transport : transport {
    std::vector<MPI_Request> request;

    mpi_transport(int *argc, char ***argv) : transport(1)
    {
        MPI_Init(argc, argv);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        MPI_Comm_rank(MPI_COMM_WORLD, &first);
    }
    ~mpi_transport()
    {
        MPI_Finalize();
    }
    void message(void *received, int64_t receives, const void *sent, int64_t sends, int rank)
    {
        request.resize(request.size() + 2, MPI_REQUEST_NULL);
        if (receives)
            MPI_Irecv(received, (int)receives, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request.end()[-2]);
        if (sends)
            MPI_Isend(sent, (int)sends, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request.end()[-1]);
    }
    void start(const std::vector<letters> &all) override
    {
        const letters &l = all[0];
        for (int r = 0; r < ranks; r++)
            message(l.received + l.to[r], l.to[r + 1] - l.to[r], l.sent + l.from[r], l.from[r + 1] - l.from[r], r);
    }
    void wait() override
    {
        MPI_Waitall((int)request.size(), request.data(), MPI_STATUSES_IGNORE);
        request.clear();
    }
    numbers tell(const numbers &said) override
    {
        std::vector<int> count(ranks), theirs(ranks);
        numbers heard(1, said[0]);
        for (int r = 0; r < ranks; r++)
            count[r] = (int)said[0][r].size();
        MPI_Alltoall(count.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < ranks; r++) {
            heard[0][r].resize(theirs[r]);
            message(heard[0][r].data(), 4 * (int64_t)theirs[r], said[0][r].data(), 4 * (int64_t)count[r], r);
        }
        wait();
        return heard;
    }
    uint64_t sum(uint64_t number) override
    {
        MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        return number;
    }
    double most(double number) override
    {
        MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return number;
    }
};
#endif

#ifdef RANKS_NCCL
struct nccl_transport : transport {
    std::vector<ncclComm_t> communicator;

    explicit nccl_transport(int n) : transport(n), communicator(n)
    {
        expect(ncclCommInitAll(communicator.data(), n, nullptr), "NCCL");
    }
    ~nccl_transport()
    {
        for (ncclComm_t c : communicator)
            ncclCommDestroy(c);
    }
    void start(const std::vector<letters> &all) override
    {
        expect(ncclGroupStart(), "exchange");
        for (int i = 0; i < ranks; i++)
            for (int r = 0; r < ranks; r++) {
                const letters &l = all[i];
                const int64_t sends = l.from[r + 1] - l.from[r], receives = l.to[r + 1] - l.to[r];
                if (sends)
                    expect(ncclSend(l.sent + l.from[r], sends, ncclChar, r, communicator[i], l.on->own), "send");
                if (receives)
                    expect(ncclRecv(l.received + l.to[r], receives, ncclChar, r, communicator[i], l.on->own), "receive");
            }
        expect(ncclGroupEnd(), "exchange");
    }
};
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* cgtp_schedule.h - which edges a warp of the convolution has: tiles of the edge list, in the order in which
 * warps take them. Included after cgtp_cuda.h.
 */
#ifndef CGTP_SCHEDULE_H
#define CGTP_SCHEDULE_H

#include "cgtp_partition.h"
#include "cgtp_vector.h"

namespace
{

/* Receivers of a tile at most, where tiles are whole receivers. */
enum { CGTP_FEW_NODES = 2 };

/* Are they? With few edges per receiver, and as many receivers as warps of a path set on average, or twice where nothing is handed
 * over; with four times as many, where rows of senders, which ranges of edges read all at a time, take more than L2 keeps of them. */
static inline bool cgtp_few_edges(int64_t items, int64_t receivers, bool hands_over, int64_t warps, int64_t senders_bytes)
{
    return (senders_bytes >> 18 > cgtp_multiprocessors() && receivers >= 4 * warps) ||
           (receivers > 0 && items / receivers < 16 && receivers >= (hands_over ? 1 : 2) * warps);
}

/* The tile of a warp: what it needs once per receiver. In shared memory, so that it takes no registers. */
struct cgtp_tile {
    int64_t node; /* the receiver of its first edge, or one without edges before that */
    int number;
    int continued; /* does its first receiver have edges in the tile before? */
    /* Where the edges of receivers end, relative to the tile's first edge: of the CGTP_LANES receivers, aligned, that the
     * current one is among. Those before `node` mean nothing; an end beyond int is beyond every tile. */
    int end[CGTP_LANES];
    /* Where tiles are whole receivers: the warp's next tile and the one after that; where the edges of the next one's
     * receivers begin, and end. */
    int after, later;
    int64_t row[CGTP_FEW_NODES + 1];
};

/* The end of the edges of `node`, relative to the tile's first edge. */
CGTP_DEVICE int cgtp_row_end(const cgtp_tile &tile, int64_t node)
{
    return tile.end[(unsigned)node % CGTP_LANES];
}

/* What is found out about a tile before its first edge: it has `count` edges from `first` on, of receivers from `node` on. That
 * takes three loads, each of which needs what the one before brings (begin, resolve, commit); other work goes between them. */
struct cgtp_tile_prologue {
    int64_t first, node;
    int count, ticket;
    int64_t row, end; /* the lane's own */
};

/* Tiles: the units of work that warps take.
 *
 * Where receivers have many edges (nodes == 0), a tile is a range of the edge list: a long one for each warp;
 * then, maybe, rounds of shorter and shorter ones, for whoever has nothing to do, as some multiprocessors and
 * path sets are slower than others. Neighbouring tiles may share a receiver. They are taken from the end of
 * the list on: a warp waits only for tiles after its own, which belong to blocks that started before or, where
 * they are short, were taken before. While blocks of the set have not started, nobody takes short ones. All are so where sets meet.
 *
 * Where they have few, a tile is `nodes` whole receivers. Warps take one after the other, whoever has done its own, in
 * the order of the list, so that the rows of senders in use at one time are near each other and stay in L2. A warp
 * asks two tiles ahead which one it gets, and one tile ahead where its edges are, so that it waits for neither.
 *
 * In small graphs (nodes < 0) each receiver has a team, of some warps of one block, and each of these a tile, its part of
 * the edges. Nothing passes from block to block, so that there is nothing to be cleared before.
 *
 * group: warps of the block that take tiles together; 0: each for itself. waits: do tiles wait for others?
 */
enum { CGTP_TEAMS = -1 };
template <int nodes, int group, bool waits, bool of_many = false> struct cgtp_tile_scheduler {
    static constexpr bool teams = nodes < 0;
    cgtp_tile *tile;              /* of this warp */
    int step;                     /* warps: their first tiles; later ones have tickets */
    int long_tiles, rounds, tickets; /* nodes == 0: how many there are; of short ones, */
    int64_t length, short_length; /* and their edges; those of the first round of short ones */
    unsigned *started;            /* how many blocks of the set have, */
    int blocks;                   /* of so many */
    unsigned *queue;              /* tickets of tiles; of_many sets, whose loops leave no registers for that: started + number, */
    int number, team;             /* anew for each; nodes < 0: warps of a team */
    int64_t from, last;           /* nodes == 0: the edges are those from here to there */
    int64_t kept;                 /* those before have rows in the buffer of edges */
    bool sums;                    /* do sums of receivers leave? */

    /* Of path set s; with a queue for each channel block, of that one. */
    template <int sets>
    CGTP_MEMBER cgtp_tile_scheduler(const cgtp_partition<sets> &p, int s, cgtp_tile *tile_, unsigned *counters,
                                    int channel_block)
        : tile(tile_), step(p.warps[s]), long_tiles(p.tiles[s]), rounds(p.rounds[s]), tickets(p.tickets[s]), length(p.length[s]),
          short_length(p.short_length[s]), started(counters + s), blocks(p.first[s + 1] - p.first[s]),
          queue(counters + p.queue[s] + channel_block), number(p.queue[s] + channel_block - s), team(p.team[s]), from(p.turn.from),
          last(p.turn.end), kept(p.turn.kept), sums(p.turn.first)
    {
    }

    /* The first edge of tile t: the tiles of round r, counted from 0, have r + 1 times the shortest length. */
    CGTP_MEMBER int64_t first_edge(int t) const
    {
        int64_t edge = from;
        int r = 0;
        CGTP_LOOP
        for (; r < rounds && t >= long_tiles; r++, t -= long_tiles)
            edge += (r + 1) * short_length * long_tiles;
        edge += t * (r < rounds ? (r + 1) * short_length : length);
        return edge < last ? edge : last;
    }

    /* Does tile t have edges of a receiver that an earlier tile begins? */
    template <typename Graph> CGTP_MEMBER bool reaches(const Graph &graph, int64_t receiver, int t) const
    {
        return t < (1 + rounds) * long_tiles && first_edge(t) < graph.receiver_row[receiver + 1];
    }

    /* How many tiles before tile t have edges of its first receiver. */
    template <typename Graph> CGTP_MEMBER int before(const Graph &graph, int64_t receiver, int t) const
    {
        const int64_t row = graph.receiver_row[receiver];
        int n = 0;
        CGTP_LOOP
        while (first_edge(t - n) > row)
            n++;
        return n;
    }

    /* The next tile of the queue; negative: there is none. */
    CGTP_MEMBER int ticket(void) const
    {
        const bool early = waits && (int)cgtp_tickets(started) < blocks;
        return early ? -1 : tickets - 1 - (int)cgtp_ticket(of_many ? cgtp_opaque_global(started) + number : queue);
    }

    /* What the first lane of the warp, or the group, asks for, in all lanes: slot, a number in shared memory through which
     * the group's first warp tells the others. */
    template <typename Number> static CGTP_MEMBER int told(int *slot, Number number)
    {
        if constexpr (group > 1) {
            cgtp_sync_group<group>();
            if (cgtp_warp() % group == 0 && cgtp_lane() == 0)
                *slot = number();
            cgtp_sync_group<group>();
            return cgtp_uniform(*slot);
        }
        cgtp_sync_warp();
        return cgtp_shuffle(cgtp_lane() == 0 ? number() : 0, 0);
    }

    /* Of tiles of whole receivers: a ticket, of the first lane of the warp or group; where the edges of the receivers
     * of tile t begin, each lane's own. */
    CGTP_MEMBER int whole_ticket(void) const
    {
        const bool first = cgtp_lane() == 0 && (group <= 1 || cgtp_warp() % (group > 1 ? group : 1) == 0);
        return first ? step + (int)cgtp_ticket(of_many ? cgtp_opaque_global(started) + number : queue) : 0;
    }
    template <typename Graph> static CGTP_MEMBER int64_t whole_row(const Graph &graph, int t)
    {
        const int64_t node = t * (int64_t)nodes + cgtp_lane();
        return cgtp_lane() <= nodes ? (int64_t)graph.receiver_row[node < graph.receivers ? node : graph.receivers] : 0;
    }

    /* The tile of the last ticket becomes the next one. */
    template <typename Graph> CGTP_MEMBER void turn(const Graph &graph, int *slot) const
    {
        const int after = told(slot, [&] { return tile->later; });
        if (cgtp_lane() == 0)
            tile->after = checked(graph, after);
        cgtp_sync_warp();
    }

    /* The number of a warp's first tile; negative: there is none. own: number of the warp, in the order of
     * starting; negative: of a block that helps. All lanes of the warp or group call this and what follows. */
    template <typename Graph> CGTP_MEMBER int start(const Graph &graph, int own, int *slot) const
    {
        own = cgtp_uniform(own);
        if constexpr (teams) {
            if (own / team < graph.receivers)
                return own;
            cgtp_sync_block(); /* as others do where they hand over their sums */
            return -1;
        }
        if (own >= step)
            return -1;
        if constexpr (nodes == 0)
            return own < 0 ? next(graph, slot) : (1 + rounds) * long_tiles - 1 - own;
        own = checked(graph, own < 0 ? told(slot, [&] { return whole_ticket(); }) : own);
        if (own < 0)
            return -1;
        const int number = whole_ticket();
        const int64_t row = whole_row(graph, own);
        if (cgtp_lane() == 0)
            tile->later = number;
        if (cgtp_lane() <= nodes)
            tile->row[cgtp_lane()] = row;
        turn(graph, slot);
        return own;
    }

    /* Of the one after tile->number. */
    template <typename Graph> CGTP_MEMBER int next(const Graph &graph, int *slot) const
    {
        if constexpr (teams) {
            if (tile->after == 0) /* without edges there were no sums */
                cgtp_sync_block();
            return -1;
        }
        if constexpr (nodes == 0)
            return tickets ? told(slot, [&] { return ticket(); }) : -1;
        const int t = cgtp_uniform(tile->after);
        if (t >= 0)
            turn(graph, slot);
        return t;
    }
    template <typename Graph> static CGTP_MEMBER int checked(const Graph &graph, int t)
    {
        return t * (int64_t)nodes < graph.receivers ? t : -1;
    }

    /* Tile t: its edges. */
    template <typename Graph> CGTP_MEMBER cgtp_tile_prologue begin(const Graph &graph, int t) const
    {
        cgtp_tile_prologue o = {};
        if constexpr (teams) {
            o.node = t / team;
            o.row = graph.receiver_row[o.node];
            o.end = graph.receiver_row[o.node + 1];
            const int64_t part = (o.end - o.row + team - 1) / team, first = o.row + t % team * part;
            o.first = first < o.end ? first : o.end;
            o.count = (int)(o.end - o.first < part ? o.end - o.first : part);
        } else if constexpr (nodes == 0) {
            o.first = first_edge(t);
            o.count = (int)(first_edge(t + 1) - o.first);
            o.node = o.first < last ? (int64_t)graph.receiver[o.first] : graph.receivers;
        } else {
            const int after = cgtp_uniform(tile->after);
            o.node = t * (int64_t)nodes;
            o.first = tile->row[0];
            o.count = (int)(tile->row[nodes] - o.first);
            o.end = tile->row[cgtp_lane() < nodes ? cgtp_lane() + 1 : 0];
            if (after >= 0) {
                o.ticket = whole_ticket();
                o.row = whole_row(graph, after);
            }
        }
        return o;
    }

    /* Its receivers. */
    template <typename Graph> CGTP_MEMBER void resolve(const Graph &graph, cgtp_tile_prologue &o) const
    {
        if constexpr (nodes == 0) {
            o.row = graph.receiver_row[o.node];
            o.end = ends(graph, o.node);
        }
    }

    /* Makes it the warp's tile. */
    CGTP_MEMBER void commit(const cgtp_tile_prologue &o, int t) const
    {
        int continued = 0;
        if constexpr (teams) {
            continued = t % team > 0;
            if (cgtp_lane() == 0)
                tile->end[(unsigned)o.node % CGTP_LANES] = relative(o.end, o.first), tile->after = o.count;
        } else if constexpr (nodes == 0) {
            continued = o.row < o.first;
            tile->end[cgtp_lane()] = relative(o.end, o.first);
        } else {
            cgtp_sync_warp();
            if (cgtp_lane() < nodes)
                tile->end[(unsigned)(o.node + cgtp_lane()) % CGTP_LANES] = relative(o.end, o.first);
            if (cgtp_lane() <= nodes)
                tile->row[cgtp_lane()] = o.row;
            if (cgtp_lane() == 0)
                tile->later = o.ticket;
        }
        if (cgtp_lane() == 0)
            tile->node = o.node, tile->number = t, tile->continued = continued;
        cgtp_sync_warp();
    }

    /* Once tile t is the warp's, asks for the first numbers of the next one's edges, if there is room. */
    template <typename Ahead, typename Index>
    CGTP_MEMBER void ask(Ahead &ahead, const Index *list, int count, int lane) const
    {
        if constexpr (nodes > 0)
            ahead.ask(list, tile->row[0], (int)(tile->row[nodes] - tile->row[0]), count, lane);
    }

    /* Where the edges of the lane's receiver end, of the CGTP_LANES that `node` is among. */
    template <typename Graph> static CGTP_MEMBER int64_t ends(const Graph &graph, int64_t node)
    {
        const int64_t row = node - (unsigned)node % CGTP_LANES + cgtp_lane() + 1;
        return graph.receiver_row[row < graph.receivers ? row : graph.receivers];
    }
    static CGTP_MEMBER int relative(int64_t end, int64_t first)
    {
        return end - first > 0x7fffffff ? 0x7fffffff : (int)(end - first);
    }

    /* Brings in where the edges of the CGTP_LANES receivers end that `node` is among. */
    template <typename Graph> CGTP_MEMBER void advance(const Graph &graph, int64_t node, int64_t first) const
    {
        const int64_t end = ends(graph, node);
        cgtp_sync_warp();
        tile->end[cgtp_lane()] = relative(end, first);
        cgtp_sync_warp();
    }

    /* Where the edges of `node` end, of a tile whose first edge is `first`. Before, `node` goes on to the receiver of edge
     * `done` of the tile, at once: those between have none, however many they are. */
    template <typename Graph, typename Node>
    CGTP_MEMBER int reach(const Graph &graph, Node &node, int64_t first, int done) const
    {
        if (nodes == 0 && node % CGTP_LANES == 0)
            advance(graph, node, first);
        int end = cgtp_uniform(cgtp_row_end(*tile, node));
        CGTP_LOOP
        while (end <= done) {
            node = nodes ? node + 1 : (Node)cgtp_uniform((Node)graph.receiver[first + done]);
            if constexpr (nodes == 0)
                advance(graph, node, first);
            end = cgtp_uniform(cgtp_row_end(*tile, node));
        }
        return end;
    }
};

/* ---- receivers without edges ---- */

/* They are in no tile. Their rows are cleared by all warps of the launch in equal parts, wherever in the list they are:
 * receiver r's by warp r % warps. */
struct cgtp_lone_rows {
    void *at;
    int64_t bytes, stride;
};

/* A lane has one of its warp's receivers at a time. The first is asked for when this is made, so that other work may go
 * between that and `clear`. All lanes call. */
template <typename Graph> struct cgtp_lone_receivers {
    const Graph &graph;
    int64_t warps, first; /* of the launch; the warp's first receiver */
    bool lone;            /* the lane's, of CGTP_LANES from there on */

    CGTP_MEMBER cgtp_lone_receivers(const Graph &graph_, int warps_of_block)
        : graph(graph_), warps(cgtp_blocks() * (int64_t)warps_of_block),
          first(cgtp_block() * (int64_t)warps_of_block + cgtp_warp()), lone(is_lone(first))
    {
    }
    CGTP_MEMBER bool is_lone(int64_t from) const
    {
        const int64_t r = from + cgtp_lane() * warps;
        return r < graph.receivers && graph.receiver_row[r] == graph.receiver_row[r + 1];
    }

    /* does(r), of all lanes together, for each of the warp's receivers without edges. */
    template <typename Does> CGTP_MEMBER void each(Does does) const
    {
        unsigned which = cgtp_vote(lone);
        CGTP_LOOP
        for (int64_t from = first; from < graph.receivers;) {
            CGTP_LOOP
            for (int64_t r = from; which; which >>= 1, r += warps)
                if (which & 1)
                    does(r);
            from += CGTP_LANES * warps;
            which = from < graph.receivers ? cgtp_vote(is_lone(from)) : 0;
        }
    }
    template <typename... Rows> CGTP_MEMBER void clear(const Rows &...rows) const
    {
        each([&](int64_t r) { (clear_row(rows, r), ...); });
    }
    static CGTP_MEMBER void clear_row(const cgtp_lone_rows &rows, int64_t r)
    {
        char *const row = (char *)rows.at + r * rows.stride;
        if ((rows.bytes | rows.stride) % 16 == 0)
            clear_units(row, rows.bytes, make_float4(0, 0, 0, 0));
        else
            clear_units(row, rows.bytes, (unsigned short)0);
    }
    template <typename Unit> static CGTP_MEMBER void clear_units(char *row, int64_t bytes, Unit zero)
    {
        constexpr int size = (int)sizeof zero;
        CGTP_LOOP
        for (int64_t i = cgtp_lane() * size; i < bytes; i += CGTP_LANES * size)
            *(Unit *)(row + i) = zero;
    }
};

/* ---- numbers of edges, 32 edges ahead ---- */

/* Each lane has the number (of its sender, of its row) of one of 32 edges of the tile, and of one of the 32 after
 * them; after the tile's last ones, those of the next tile's first edges. of_many sets have no register for `asked` in
 * their loops: what is no number is negative there, so that `next` says itself whether it was asked for. */
template <typename Index, bool of_many = false> struct cgtp_ahead {
    static constexpr Index none = of_many ? -1 : 0;
    Index now = none, next = none;
    bool asked = false; /* are they there already? */

    /* A tile of `count` edges from `first` on. */
    CGTP_MEMBER void begin(const Index *list, int64_t first, int count, int lane)
    {
        if (of_many ? next < 0 : !asked)
            next = lane < count ? list[first + lane] : none;
        asked = false;
    }

    /* The same of the one after it, while a tile of `before` edges is worked on. */
    CGTP_MEMBER void ask(const Index *list, int64_t first, int count, int before, int lane)
    {
        if (before <= CGTP_LANES)
            next = lane < count ? list[first + lane] : none, asked = true;
    }

    /* Of edge `number` of the tile; asked for in ascending order. more: the lane's is so many after it, of edges side by
     * side that begin at a multiple of their number. */
    CGTP_MEMBER Index of(const Index *list, int64_t first, int count, int number, int lane, int more = 0)
    {
        if (number % CGTP_LANES == 0) {
            now = next;
            const int after = number + CGTP_LANES + lane;
            next = after < count ? list[first + after] : none;
        }
        return (Index)cgtp_shuffle(now, (int)((unsigned)number % CGTP_LANES) + more);
    }
};

} // namespace

#endif

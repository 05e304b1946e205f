// Maps a memory with one write port to latches: word k opens while the clock is high after an edge with its
// enable, through a clock gate; a row of latches that is open while the clock is low holds the data meanwhile.
// Together they are a flip-flop whose master is shared by all words, so contents change as in flip-flops. Reads are
// AND-OR of one-hot addresses, into flip-flops where the port has a clock.
(* techmap_celltype = "$mem_v2" *)
module _ahasd_latch_memory (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter signed SIZE = 4;
  parameter signed OFFSET = 0;
  parameter signed ABITS = 2;
  parameter signed WIDTH = 8;
  parameter signed INIT = 1'bx;
  parameter signed RD_PORTS = 1;
  parameter RD_CLK_ENABLE = 1'b1;
  parameter RD_CLK_POLARITY = 1'b1;
  parameter RD_TRANSPARENCY_MASK = 1'b0;
  parameter RD_COLLISION_X_MASK = 1'b0;
  parameter RD_WIDE_CONTINUATION = 1'b0;
  parameter RD_CE_OVER_SRST = 1'b0;
  parameter RD_INIT_VALUE = 1'b0;
  parameter RD_ARST_VALUE = 1'b0;
  parameter RD_SRST_VALUE = 1'b0;
  parameter signed WR_PORTS = 1;
  parameter WR_CLK_ENABLE = 1'b1;
  parameter WR_CLK_POLARITY = 1'b1;
  parameter WR_PRIORITY_MASK = 1'b0;
  parameter WR_WIDE_CONTINUATION = 1'b0;

  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output reg [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  input [WR_PORTS*WIDTH-1:0] WR_DATA;

  wire _TECHMAP_FAIL_ = WR_PORTS != 1 || RD_PORTS != 1 || OFFSET != 0;

  wire [WIDTH-1:0] held;
  wire [SIZE*WIDTH-1:0] masked;
  genvar bit_, word_;
  generate
    for (bit_ = 0; bit_ < WIDTH; bit_ = bit_ + 1) begin : master
      \$_DLATCH_N_ latch (.E(WR_CLK[0]), .D(WR_DATA[bit_]), .Q(held[bit_]));
    end
    for (word_ = 0; word_ < SIZE; word_ = word_ + 1) begin : word
      wire open;
      AHASD_CLOCK_GATE gate (.CK(WR_CLK[0]), .E(WR_EN[0] && WR_ADDR == word_), .GCK(open));
      wire chosen = RD_ADDR == word_;
      for (bit_ = 0; bit_ < WIDTH; bit_ = bit_ + 1) begin : slave
        wire q;
        \$_DLATCH_P_ latch (.E(open), .D(held[bit_]), .Q(q));
        assign masked[bit_ * SIZE + word_] = q && chosen;
      end
    end
  endgenerate

  wire [WIDTH-1:0] found;
  generate
    for (bit_ = 0; bit_ < WIDTH; bit_ = bit_ + 1) assign found[bit_] = |masked[bit_ * SIZE +: SIZE];
    if (RD_CLK_ENABLE[0]) begin : clocked
      always @(posedge RD_CLK[0]) if (RD_EN[0]) RD_DATA <= found;
    end else begin : open_
      always @* RD_DATA = found;
    end
  endgenerate
endmodule

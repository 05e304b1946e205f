"""cocotb benches on the generated Verilog, and what starts them."""

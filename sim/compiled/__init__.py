"""The RTL control unit compiled into a shared library: CXXRTL, a C++ compiler, and a clock loop in C++."""

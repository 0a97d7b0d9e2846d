"""The room of chapter 7, The LSTM: what its pages alone need."""

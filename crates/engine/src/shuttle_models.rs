mod latch;

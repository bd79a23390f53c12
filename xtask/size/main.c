/* The smallest program that links the engine; `cargo xtask size` counts its bytes. */
int probe(void);

int main(void) {
    return probe();
}

/* What the two sides offer to the program: their headers cannot be included together. */
#ifndef SIDES_H
#define SIDES_H

struct rem_mco_dictionary;

int mco_write(unsigned sensor, unsigned taken, const char *spectra);
int mco_read(unsigned sensor, unsigned taken, char *spectra, unsigned size);
const struct rem_mco_dictionary *mco_side_dictionary(void);

int d_write(unsigned sensor, unsigned taken, const char *spectra);
int d_read(unsigned sensor, unsigned taken, char *spectra, unsigned size);

#endif

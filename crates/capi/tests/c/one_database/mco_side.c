/* Writes objects through the mco-style interface, and reads what the d_-style side wrote. */
#include "both_mco.h"

#include "sides.h"

#include <string.h>

int mco_write(unsigned sensor, unsigned taken, const char *spectra)
{
    mco_db_h db;
    mco_trans_h t;
    Measure measure;
    int failed = mco_db_connect("both", &db);

    failed = failed ? failed : mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
    failed = failed ? failed : Measure_new(t, &measure);
    if (failed) {
        return failed;
    }
    Measure_sensor_id_put(&measure, sensor);
    Measure_taken_put(&measure, taken);
    Measure_spectra_put(&measure, spectra, (uint2)strlen(spectra));
    failed = mco_trans_commit(t);
    return failed ? failed : mco_db_disconnect(db);
}

int mco_read(unsigned sensor, unsigned taken, char *spectra, unsigned size)
{
    mco_db_h db;
    mco_trans_h t;
    Measure measure;
    uint2 length;
    int failed = mco_db_connect("both", &db);

    failed = failed ? failed : mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t);
    failed = failed ? failed : Measure_sensors_find(t, sensor, taken, &measure);
    failed = failed ? failed : Measure_spectra_get(&measure, spectra, (uint2)size, &length);
    mco_trans_commit(t);
    mco_db_disconnect(db);
    return failed;
}

mco_dictionary_h mco_side_dictionary(void)
{
    return both_get_dictionary();
}

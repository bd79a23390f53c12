/* Writes records and a set through the d_-style interface, and reads what the mco-style side
 * wrote. */
#include "both_d.h"

#include "sides.h"

#include <string.h>

static int opened(DB_TASK *task)
{
    int stat = d_opentask(task);
    return stat ? stat : d_open("both", "s", task);
}

static int closed(DB_TASK *task)
{
    int stat = d_close(task);
    return stat ? stat : d_closetask(task);
}

int d_write(unsigned sensor, unsigned taken, const char *spectra)
{
    DB_TASK task;
    struct Measure measure;
    struct Sensor owner;
    int stat = opened(&task);

    memset(&measure, 0, sizeof measure);
    measure.sensor_id = sensor;
    measure.taken = taken;
    strncpy(measure.spectra, spectra, sizeof measure.spectra - 1);
    owner.id = sensor;
    stat = stat ? stat : d_trbegin("both", &task);
    stat = stat ? stat : d_reclock(MEASURE, "w", &task, CURR_DB);
    stat = stat ? stat : d_reclock(SENSOR, "w", &task, CURR_DB);
    stat = stat ? stat : d_keyfind(ID, &owner.id, &task, CURR_DB);
    if (stat == S_NOTFOUND) {
        stat = d_fillnew(SENSOR, &owner, &task, CURR_DB);
    }
    stat = stat ? stat : d_setor(HISTORY, &task, CURR_DB);
    stat = stat ? stat : d_fillnew(MEASURE, &measure, &task, CURR_DB);
    stat = stat ? stat : d_connect(HISTORY, &task, CURR_DB);
    stat = stat ? stat : d_trend(&task);
    return stat ? stat : closed(&task);
}

int d_read(unsigned sensor, unsigned taken, char *spectra, unsigned size)
{
    DB_TASK task;
    struct Measure measure;
    int stat = opened(&task);

    measure.sensor_id = sensor;
    measure.taken = taken;
    stat = stat ? stat : d_reclock(MEASURE, "r", &task, CURR_DB);
    stat = stat ? stat : d_keyfind(SENSORS, &measure, &task, CURR_DB);
    stat = stat ? stat : d_recread(&measure, &task, CURR_DB);
    if (!stat) {
        strncpy(spectra, measure.spectra, size - 1);
        spectra[size - 1] = '\0';
    }
    closed(&task);
    return stat;
}

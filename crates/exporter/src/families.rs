//! Families of metrics in the making: a name, what it means, and its samples.
//!
//! The text is written by the library; here its model is filled. A family without samples is left
//! out, as the format wants it.

use prometheus::TextEncoder;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

/// Labels of a sample: names and values.
type Labels<'l> = &'l [(&'l str, &'l str)];

/// Families, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Families(Vec<MetricFamily>);

impl Families {
    /// Adds what only grows.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help, [(&[][..], value as f64)]);
    }

    /// As [`Families::counter`], one for each set of labels.
    pub(crate) fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'l>, f64)>,
    ) {
        self.add(name, help, MetricType::COUNTER, samples, |metric, value| {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        });
    }

    /// Adds a state.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.gauges(name, help, [(&[][..], value)]);
    }

    /// As [`Families::gauge`], one for each set of labels.
    pub(crate) fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'l>, f64)>,
    ) {
        self.add(name, help, MetricType::GAUGE, samples, |metric, value| {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        });
    }

    /// All of them as text.
    pub(crate) fn to_text(&self) -> String {
        // It fails for families without a name or samples only, and there are none.
        TextEncoder::new().encode_to_string(&self.0).unwrap_or_default()
    }

    fn add<'l>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        samples: impl IntoIterator<Item = (Labels<'l>, f64)>,
        set: impl Fn(&mut Metric, f64),
    ) {
        let samples = samples.into_iter().map(|(labels, value)| {
            let pairs = labels.iter().map(|&(name, value)| {
                let mut pair = LabelPair::default();
                pair.set_name(name.to_owned());
                pair.set_value(value.to_owned());
                pair
            });
            let mut metric = Metric::from_label(pairs.collect());
            set(&mut metric, value);
            metric
        });
        let samples: Vec<_> = samples.collect();
        if samples.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(samples);
        self.0.push(family);
    }
}

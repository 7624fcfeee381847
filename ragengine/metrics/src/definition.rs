/// Defines a struct of metrics, with one field for each metric and a function `new` that registers them. The name of a
/// metric is the prefix followed by the field's name. Its help text is the field's doc comment. The kinds are:
///
/// - `Counters`: numbers that only increase;
/// - `Gauges`: numbers that increase and decrease; `Gauge` is one without labels;
/// - `Durations`: histograms of seconds, with buckets up to the longest timeout;
/// - `Histograms … in BUCKETS`: histograms of other units.
///
/// ```
/// ragengine_metrics::metrics! {
///     /// Metrics of a kitchen.
///     pub struct Kitchen: "kitchen_" {
///         /// Meals served.
///         meals_total: Counters["guest"],
///         /// Preparation time of a meal.
///         meal_duration_seconds: Durations[],
///     }
/// }
/// # fn main() -> Result<(), ragengine_metrics::prometheus::Error> {
/// let mut builder = ragengine_metrics::Builder::new(std::time::Duration::from_secs(1))?;
/// let kitchen = Kitchen::new(&mut builder)?;
/// kitchen.meals_total.with_label_values(&["ann"]).inc();
/// let entries = builder.finish().entries;
/// assert_eq!((entries[0].name, entries[0].help), ("kitchen_meals_total", "Meals served."));
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! metrics {
    (
        $(#[doc = $about:literal])*
        $visibility:vis struct $Metrics:ident: $prefix:literal {
            $(
                $(#[doc = $help:literal])+
                $field_visibility:vis $field:ident: $kind:ident[$($label:literal),*] $(in $buckets:ident)?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone)]
        $visibility struct $Metrics {
            $(
                $(#[doc = $help])+
                $field_visibility $field: $crate::metrics!(@type $kind),
            )*
        }

        impl $Metrics {
            /// Creates and registers the metrics, with all values 0.
            ///
            /// # Errors
            ///
            /// When two metrics have the same name. A test rules that out.
            pub fn new(
                builder: &mut $crate::Builder,
            ) -> ::std::result::Result<Self, $crate::prometheus::Error> {
                Ok(Self {
                    $(
                        $field: $crate::metrics!(
                            @make builder,
                            $kind,
                            concat!($prefix, stringify!($field)),
                            concat!($($help),+).trim_ascii_start(),
                            &[$($label),*],
                            $($buckets)?
                        )?,
                    )*
                })
            }
        }
    };
    (@type Counters) => { $crate::prometheus::IntCounterVec };
    (@type Gauges) => { $crate::prometheus::IntGaugeVec };
    (@type Gauge) => { $crate::prometheus::IntGauge };
    (@type Durations) => { $crate::prometheus::HistogramVec };
    (@type Histograms) => { $crate::prometheus::HistogramVec };
    (@make $builder:ident, Counters, $name:expr, $help:expr, $labels:expr,) => {
        $builder.counters($name, $help, $labels)
    };
    (@make $builder:ident, Gauges, $name:expr, $help:expr, $labels:expr,) => {
        $builder.gauges($name, $help, $labels)
    };
    (@make $builder:ident, Gauge, $name:expr, $help:expr, $labels:expr,) => {
        $builder.gauge($name, $help)
    };
    (@make $builder:ident, Durations, $name:expr, $help:expr, $labels:expr,) => {
        $builder.durations($name, $help, $labels)
    };
    (@make $builder:ident, Histograms, $name:expr, $help:expr, $labels:expr, $buckets:ident) => {
        $builder.histograms($name, $help, $labels, $buckets)
    };
}

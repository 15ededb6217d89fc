//! Series of rates that unit tests look at.

/// Returns a series with these levels, each with its number of values, and a little reproducible
/// scatter.
pub fn levels(levels: &[(f64, usize)]) -> Vec<f64> {
    let scatter = [0.0, 0.6, -0.8, 0.3, -0.2, 0.9, -0.5];
    let flat = levels
        .iter()
        .flat_map(|(level, count)| vec![*level; *count]);
    flat.zip(scatter.iter().cycle())
        .map(|(level, noise)| level * (1.0 + noise / 100.0))
        .collect()
}

/// The flow of the Nile at Aswan from 1871 to 1970, 10⁸ m³ a year: data set `Nile` of R. It fell
/// after 1898, the 28th year (G. W. Cobb, Biometrika 65, 1978; the example of `breakpoints` in R's
/// package strucchange).
pub const NILE: [f64; 100] = [
    1_120.0, 1_160.0, 963.0, 1_210.0, 1_160.0, 1_160.0, 813.0, 1_230.0, 1_370.0, 1_140.0, 995.0,
    935.0, 1_110.0, 994.0, 1_020.0, 960.0, 1_180.0, 799.0, 958.0, 1_140.0, 1_100.0, 1_210.0,
    1_150.0, 1_250.0, 1_260.0, 1_220.0, 1_030.0, 1_100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0,
    701.0, 916.0, 692.0, 1_020.0, 1_050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1_120.0,
    1_100.0, 832.0, 764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1_040.0,
    759.0, 781.0, 865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1_010.0, 771.0, 676.0, 649.0, 846.0,
    812.0, 742.0, 801.0, 1_040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1_050.0, 918.0,
    986.0, 797.0, 923.0, 975.0, 815.0, 1_020.0, 906.0, 901.0, 1_170.0, 912.0, 746.0, 919.0, 718.0,
    714.0, 740.0,
];

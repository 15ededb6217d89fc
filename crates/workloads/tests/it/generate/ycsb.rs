//! The draws compared with those of YCSB's own classes.
//!
//! The figures were printed by YCSB's `site.ycsb.generator` at commit d9faaac of its repository,
//! with Java 17. The only change: where the classes call `ThreadLocalRandom.current()`, which
//! cannot be seeded, they were given `new java.util.Random(1)`, anew after each was constructed.

use trueput_workloads::generate::distribution::{
    exponential_back, exponential_mean, latest_item, scrambled_item, scrambled_ranks,
};
use trueput_workloads::generate::zipfian::{YCSB_THETA, Zipfian, zeta};

/// `java.util.Random`, as its documentation defines it.
struct JavaRandom(u64);

impl JavaRandom {
    const FACTOR: u64 = 0x0005_deec_e66d;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> Self {
        Self((seed ^ Self::FACTOR) & Self::MASK)
    }

    fn next(&mut self, bits: u32) -> u64 {
        self.0 = (self.0.wrapping_mul(Self::FACTOR) + 0xb) & Self::MASK;
        self.0 >> (48 - bits)
    }

    fn next_double(&mut self) -> f64 {
        ((self.next(26) << 27) + self.next(27)) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

fn draws<const N: usize>(mut next: impl FnMut(f64) -> u64) -> [u64; N] {
    let mut random = JavaRandom::new(1);
    std::array::from_fn(|_| next(random.next_double()))
}

#[test]
fn the_stand_in_for_java_draws_what_java_draws() {
    let mut random = JavaRandom::new(1);
    let drawn = [(); 4].map(|()| random.next_double());
    let java = [
        0.730_878_190_703_290_9,
        0.410_080_811_492_201_66,
        0.207_714_841_309_717_07,
        0.332_717_055_959_511_2,
    ];
    assert_eq!(drawn, java);
}

#[test]
fn zeta_is_that_of_ycsb() {
    for (items, ycsb) in [
        (1, 1.0),
        (2, 1.503_477_775_028_359_4),
        (10, 2.956_107_516_510_363_6),
        (100, 5.294_568_831_377_164),
        (1_000, 7.728_953_217_284_729),
        (10_000, 10.224_361_459_595_578),
        (1_000_000, 15.391_849_746_037_371),
        (100_000_000, 20.802_930_490_020_14),
    ] {
        let ours = zeta(items, YCSB_THETA);
        assert!((ours - ycsb).abs() < 1e-10, "{items}: {ours} {ycsb}");
    }
    // For 10^10 items, YCSB's published constant, and the true sum by mpmath in 30 digits.
    let ours = zeta(10_000_000_000, YCSB_THETA);
    assert!((ours - 26.469_028_201_783_02).abs() < 1e-10, "{ours}");
    assert!((ours - 26.469_028_201_751_479).abs() < 1e-12, "{ours}");
}

#[test]
fn zeta_is_that_of_ycsb_for_other_exponents() {
    assert!((zeta(1_000, 0.5) - 61.801_008_765_243_18).abs() < 1e-10);
    assert!((zeta(1_000, 0.8) - 15.469_810_382_227_34).abs() < 1e-10);
    // By mpmath in 30 digits.
    assert!((zeta(1_000_000, 0.5) - 1_998.540_145_491_148_7).abs() < 1e-9);
}

#[test]
fn zipfian_ranks_are_those_of_ycsb() {
    let mut zipfian = Zipfian::new(1_000, YCSB_THETA);
    assert_eq!(
        draws(|unit| zipfian.rank(unit, 1_000)),
        [
            130, 10, 2, 5, 785, 0, 761, 637, 673, 623, 9, 6, 4, 23, 0, 177, 75, 1, 8, 1, 99, 230,
            0, 26, 144, 1, 19, 31, 40, 2, 57, 1
        ]
    );
    let mut zipfian = Zipfian::new(1_000_000, YCSB_THETA);
    assert_eq!(
        draws(|unit| zipfian.rank(unit, 1_000_000)),
        [
            23_828, 229, 10, 72, 643_761, 0, 609_022, 439_130, 485_638, 422_648, 189, 90, 40, 946,
            2, 41_696, 8_684, 4, 142, 3, 14_314, 67_850, 0, 1_206, 28_678, 3, 658, 1_647, 2_641,
            10, 5_145, 7
        ]
    );
    let mut zipfian = Zipfian::new(10, 0.5);
    assert_eq!(
        draws(|unit| zipfian.rank(unit, 10)),
        [
            6, 2, 1, 1, 9, 0, 9, 9, 9, 8, 2, 2, 1, 3, 0, 6, 5, 0, 2, 0, 5, 7, 0, 3, 6, 0, 3, 3, 4,
            1, 4, 0
        ]
    );
}

#[test]
fn a_million_zipfian_draws_count_as_in_ycsb() {
    let mut zipfian = Zipfian::new(1_000, YCSB_THETA);
    let mut random = JavaRandom::new(1);
    let mut counts = [0; 1_000];
    for _ in 0..1_000_000 {
        counts[zipfian.rank(random.next_double(), 1_000) as usize] += 1;
    }
    assert_eq!(
        counts[..16],
        [
            129_537, 64_992, 51_363, 36_491, 28_043, 23_523, 19_388, 16_919, 15_009, 13_484,
            12_150, 11_091, 10_120, 9_298, 8_780, 8_283
        ]
    );
}

#[test]
fn scrambled_items_are_those_of_ycsb() {
    let mut ranks = scrambled_ranks();
    assert_eq!(
        draws(|unit| scrambled_item(&mut ranks, unit, 1_000)),
        [
            830, 864, 16, 279, 8, 211, 99, 486, 337, 726, 690, 864, 335, 209, 964, 726, 751, 834,
            584, 308, 513, 959, 211, 641, 277, 81, 874, 57, 626, 803, 265, 867
        ]
    );
    assert_eq!(
        draws(|unit| scrambled_item(&mut ranks, unit, 100_000_000)),
        [
            70_800_830, 55_370_864, 71_118_016, 55_750_279, 22_729_008, 67_377_211, 53_374_099,
            81_485_486, 40_412_337, 18_315_726, 12_632_690, 48_194_864, 96_486_335, 79_126_209,
            3_802_964, 76_751_726, 65_495_751, 6_296_834, 12_450_584, 36_912_308, 94_445_513,
            65_519_959, 67_377_211, 74_994_641, 90_300_277, 69_871_081, 69_813_874, 24_691_057,
            23_997_626, 49_795_803, 78_960_265, 98_540_867
        ]
    );
}

#[test]
fn latest_items_are_those_of_ycsb_while_items_are_added() {
    let mut last = 999;
    let mut ranks = Zipfian::new(last, YCSB_THETA);
    let drawn = draws(|unit| {
        let item = latest_item(&mut ranks, unit, last);
        last += 1;
        item
    });
    assert_eq!(
        drawn,
        [
            869, 990, 999, 997, 216, 1_004, 240, 365, 330, 379, 999, 1_004, 1_007, 989, 1_013, 835,
            938, 1_015, 1_009, 1_017, 918, 785, 1_021, 995, 875, 1_023, 1_006, 994, 986, 1_026,
            970, 1_029
        ]
    );
}

#[test]
fn exponential_distances_are_those_of_ycsb() {
    let mean = exponential_mean(95.0, 1_000.0 * 0.857_142_857_1);
    assert_eq!(
        draws(|unit| exponential_back(mean, unit)),
        [
            89, 255, 449, 314, 9, 1_458, 10, 17, 15, 18, 264, 302, 350, 194, 616, 74, 118, 530,
            278, 563, 104, 61, 1_514, 185
        ]
    );
}

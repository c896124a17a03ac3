//! Network cards, without names and addresses.

use std::path::Path;

use oscost_model::facts::NetworkCard;

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// `ARPHRD_LOOPBACK` of if_arp.h, as the file `type` shows it.
const LOOPBACK: u32 = 772;

/// The network cards; equal ones are counted: a machine full of containers has hundreds of equal
/// virtual ones.
pub(in crate::facts) fn gather(roots: &Roots) -> Vec<NetworkCard> {
    let folder = roots.at("sys/class/net");
    let mut cards: Vec<NetworkCard> = Vec::new();
    for name in reader::names(&folder) {
        let Some(card) = card(&folder.join(name)) else { continue };
        let same = |other: &&mut NetworkCard| NetworkCard { count: 1, ..(*other).clone() } == card;
        match cards.iter_mut().find(same) {
            Some(other) => other.count += 1,
            None => cards.push(card),
        }
    }
    cards
}

/// `None` if it is not a card: the directory also holds files such as `bonding_masters`.
fn card(folder: &Path) -> Option<NetworkCard> {
    let kind: u32 = reader::number(&folder.join("type"))?;
    let speed: Option<u64> = reader::number(&folder.join("speed"));
    Some(NetworkCard {
        kind: if kind == LOOPBACK { "loopback".to_string() } else { interface_kind(folder) },
        driver: reader::link_name(&folder.join("device/driver")),
        // An unknown speed is a read error or -1, in some kernels as an unsigned number.
        speed_mbps: speed.filter(|&mbps| mbps < u64::from(u32::MAX)),
        mtu_bytes: reader::number(&folder.join("mtu")),
        count: 1,
        device: device(folder),
    })
}

fn interface_kind(folder: &Path) -> String {
    let uevent = reader::lines(&folder.join("uevent")).unwrap_or_default();
    let devtype =
        uevent.lines().find_map(|line| parse::printable(line.strip_prefix("DEVTYPE=")?, 32));
    match devtype {
        Some(devtype) if devtype == "wlan" => "wireless".to_string(),
        Some(devtype) => devtype,
        None if folder.join("device").exists() => "physical".to_string(),
        None => "virtual".to_string(),
    }
}

/// Vendor and device id. A card has no name in sysfs; the ids can be looked up.
fn device(folder: &Path) -> Option<String> {
    let number = |name: &str| {
        let text = reader::value(&folder.join("device").join(name))?;
        text.strip_prefix("0x").map(str::to_owned)
    };
    Some(format!("{}:{}", number("vendor")?, number("device")?))
}

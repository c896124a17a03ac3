use oscost_cell::bench::Work;
use oscost_cell::engine::clock::{Clock,Tsc};
use oscost_cell::engine::collect::{Collector,Cut,Tag};
use oscost_cell::engine::disturb::Kernel;
use oscost_cell::sys::{syscall,evict::Eviction,affinity};
use oscost_model::cell::*;
fn run(name:&str, mut work:Work){
  let plan=BatchPlan{mode:Mode::C,turns:1,copies:vec![1],groups:101,batch_ns:1000.0,coarse_clock:false};
  let mut c=Collector::new(Tsc,Kernel::of_this_thread());
  let mut cut=Cut::new(1); let mut v=vec![]; let mut hit=0;
  for round in 0..101 { c.group(&mut work,&plan,&mut cut,Tag{arm:0,round,batch:round},&mut |s|{ if s.involuntary_switches==0 {v.push(s.ticks as f64/2.6)} else {hit+=1} }).unwrap(); }
  v.sort_by(f64::total_cmp);
  println!("{name}: p10 {:.0} median {:.0} p90 {:.0} ns, {hit} hit, n {}",v[v.len()/10],v[v.len()/2],v[v.len()*9/10],v.len());
}
#[test] fn t(){
  affinity::pin(1).unwrap();
  let _=Tsc.raw_ns();
  run("nothing, not evicted",Work::repeat(||Ok(())).made_cold(||Ok(())));
  run("getppid, not evicted",Work::repeat(||syscall::getppid().map(drop)).made_cold(||Ok(())));
  let mut e=Eviction::for_this_cpu().unwrap();
  let t=std::time::Instant::now(); for _ in 0..20{e.evict();} println!("eviction {:?}",t.elapsed()/20);
  run("nothing, evicted",Work::repeat(||Ok(())).made_cold(move||{e.evict();Ok(())}));
  let mut e=Eviction::for_this_cpu().unwrap();
  run("getppid, evicted",Work::repeat(||syscall::getppid().map(drop)).made_cold(move||{e.evict();Ok(())}));
}

-- The mean over clusters of the harmonic mean of precision and recall of their commonest label.
-- views: _contingency.sql
SELECT slice, avg(2 / (in_cluster / shared + of_label / shared)) AS value
FROM commonest
GROUP BY slice
